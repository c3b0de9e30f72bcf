//go:build !mvcccheck

package epoch

// In ordinary builds nothing is checked, see check_on.go.

func (slot *Slot) checkBegin()           { _ = &slot.begun }
func (s *Slots) checkBegun(*Slot, Epoch) {}
func (s *Slots) checkAnnounced(Epoch)    {}
func (s *Slots) checkScan(Epoch)         {}
func (slot *Slot) checkReleased()        {}
func (p *pins) check()                   {}
func (s *Slots) checkView(*View)         {}

// CheckLive does nothing in ordinary builds.
func (slot *Slot) CheckLive(Gen) {}

// CheckBegun does nothing in ordinary builds.
func (slot *Slot) CheckBegun(Gen) {}

// CheckView does nothing in ordinary builds.
func (s *Slots) CheckView(*View) {}

// CheckNoneBelow does nothing in ordinary builds.
func (s *Slots) CheckNoneBelow(Epoch, bool, string) {}
