//go:build !unix

package nemesis

// hold does nothing: no process can be stopped.
func hold(int, bool) error { return nil }
