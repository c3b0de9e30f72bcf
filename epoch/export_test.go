package epoch

// What the tests need to know of the sizes.
const (
	PoolLocal     = poolLocal
	SlotsPerChunk = slotsPerChunk
)
