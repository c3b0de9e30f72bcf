package favour

// Stats has the counts of a queue, and its contents.
type Stats struct {
	Held      int    // claims that are granted
	Waiting   int    // goroutines that wait for their own claim, or for the end of another claim
	Granted   uint64 // claims that were granted
	Expired   uint64 // claims that were taken away
	Deferrals uint64 // how often a writer has waited for the end of another's
}

// Stats returns the present statistics. It takes no lock.
func (q *Queue) Stats() Stats {
	return Stats{
		Held:      int(max(q.grantedCount.Load()%alwaysAny, 0)),
		Waiting:   int(max(q.waiting.Load(), 0)),
		Granted:   q.granted.Load(),
		Expired:   q.expired.Load(),
		Deferrals: q.deferrals.Load(),
	}
}
