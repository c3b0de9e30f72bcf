// Package browsertest has the tests of package profiling that need a real browser. It is a module
// of its own, so that no program that imports the library downloads the driver of the browser.
//
// The tests look for Chromium or Chrome and are skipped where there is none,
// unless the environment variable MVCCMAP_BROWSER is "required".
package browsertest
