//go:build !mvcccheck

package gc

// In ordinary builds nothing is checked, see check_on.go.
func (r *Reclaimer) checkInstalled(*View) {}
