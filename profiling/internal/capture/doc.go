// Package capture takes profiles, execution traces and reports on contention, a
// bounded number at a time, and keeps some of them for the browser.
package capture
