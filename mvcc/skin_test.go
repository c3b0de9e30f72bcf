package mvcc

// coreOf returns the core of a map, for tests of what it does.
func coreOf[K comparable, V any](m *Map[K, V]) *core { return coreAt(m.at) }
