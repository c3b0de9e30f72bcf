//go:build !nolinkname && !race

package epoch

// Idle returns how many objects the pool holds. Nobody may be using it.
func (p *Pool[T]) Idle() int {
	p.shards.mu.Lock()
	defer p.shards.mu.Unlock()
	n := len(p.shards.common)
	for pid := 0; ; pid++ {
		s := p.stackOf(pid)
		if s == nil {
			return n
		}
		n += s.n
	}
}
