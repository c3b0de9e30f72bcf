// Package otel sends the figures and attempts of package mvcc to OpenTelemetry: a span and a
// duration for each attempt of an Update, and the figures of maps and databases. It is a module of
// its own, so that a program that does not use it need not download OpenTelemetry.
//
//	observe, err := otel.Attempts(otel.Config{})
//	...
//	db := mvcc.NewDB(&mvcc.Options{Observe: observe})
//	reg, err := otel.Figures(otel.Config{}, db.Sources("shop"))
//	...
//	defer reg.Unregister()
//
// The zero [Config] uses the global providers.
package otel
