// Package web is what the pages of package profiling have in common: who is
// answered, in which form, and the templates.
package web
