// Package stage is for tests in which goroutines meet. A [Stage] stops them at yield points, in
// builds with the tag mvcccheck. [Workers] lets them run, and fails the test with their reports. A
// wait here fails the test when nothing happens for very long.
package stage
