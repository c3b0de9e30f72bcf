//go:build mvcccheck

package mvcc

// The scenarios that TestSchedules explores.

// pairwise are the operations of which each is run beside each, itself included.
var pairwise = []string{
	"load a", "store a", "swap a", "loadOrStore a", "loadAndDelete a", "cas a=1",
	"view ra rb", "view scan",
	"update ra wa", "update ra wb", "update rb wa", "update wa wb", "update wb wa", "update da wb",
	"update scan wb",
	"snapshot ra wa", "snapshot ra wb", "snapshot rb wa", "alarmed ra wb", "prune",
	"past ra rb", "compute a", "update ma wb", "update rb ma", "snapshot rb ma", "snapshot ua wb",
}

// initials are the maps on which that is done.
var initials = []string{"a+ b", "a- b", ""}

// longer are programs of two actors with more operations, or in which a rival is
// given up: they are explored wholly.
var longer = []string{
	"a|store a; load a|prune",
	"a b|store a; store b|load b; load a",
	"a b|update wa wb|load a; load b",
	"a b|update wa wb; prune|load a",
	"a b|update wa wb|view ra rb; view rb ra",
	"a b|update ra wb|store b",
	"a b|update ra wa wb|view ra rb",
	"a|snapshot ra wa|snapshot ra wa",
	"a+|view ra|store a; prune",
	"a|delete a; prune|loadOrStore a",
	"a|delete a; store a|refresh; prune",
	"a- b|update ra wb|store a; delete a",
	"a- patience=0|update ra wb|store a; delete a; prune",
	"a b|retry ra wb|store a",
	"a+ eager|view ra|store a",
	"a+ busy|view ra|store a",
	"a b eager|update ra wb|store a",
	"a|update ma; update ma|update ma",
	"a+ b|past ra|store a; prune",
	"a|past ra; past ra|store a; refresh; store a",
	"a|past ra|delete a; prune",
	"a|compute a; load a|compute a",
	"a b|snapshot rb ma|update wa wb",
	"a b|snapshot ua wb|snapshot ub wa",
	"a|cas a=1|delete a; prune; store a",
	"b|alarmed ra wb|store a; delete a",
	"b|alarmed ra wb|store a; load b",
	"b|alarmed scan wb|store a; delete a",
	"a|update len wb|update len wc",
	"a b|update len wc|store a; delete b",
	"a|update len wc|delete a; store b",
	"a- b patience=0|update len wc|store a; delete a; prune",
	"a|alarmed len wb|store c; delete c",
}

// reused are programs in which an actor runs updates of several keys one after the other: its
// slot decides about all of them. A bit of the record tells each from the next one: so it takes
// three before somebody who sleeps finds the word that it has loaded again, but for the floor.
// They are explored wholly.
var reused = []string{
	"a b|update wa wb; update wa wb; update wa wb|load a",
	"a b|update wa wb; update wa wb|view ra rb",
	"a b c patience=0|update rc wa wb; update rc wa wb; update rc wa wb|load a",
	"a b c patience=0|update rc wa wb; update rc wa wb|view ra rb",
}

// reusedMore are more of these: with a rival, that the actor may abort or that may abort
// it, or with more steps; and a Clear, which runs until it gets through. They are explored
// within a bound on preemptions.
var reusedMore = []string{
	"a b patience=0|update wa wb; update wa wb|store a",
	"a b patience=0|update wa wb; update wb wa|update wa wb",
	"a b patience=0|update wa wb; update wa wb|update ra wb",
	"a b c|update rc wa wb; update wb wc|store c; load a",
	"a b|update wa wb; update wa wb|load a; load b",
	"a b|update wa wb; update wa wb|prune",
	"a b c|update ra wb|store a; load b; update wa wc; prune",
	"a b c|update ra wb wc; update ra wb wc|view rc rb",
	"a b|clear|store c; store b",
	"a-|update wa wb|prune; store a",
}

// overTables are programs over the tables of a database, see parseScenario. They are
// explored wholly, and overTablesMore within a bound on preemptions.
var overTables = []string{
	"a b tables|update wa wb|view ra rb",
	"a b tables|update wa wb; update wa wb|view ra rb",
	"a b tables|update wa wb|load a; load b",
	"a b tables|update wa wb|prune",
	"a b c tables patience=0|update ra wb wc|store a; load b",
	"a+ b- tables patience=0|update ra wb|store a; load b",
	"a b tables patience=0|snapshot ra wb|snapshot rb wa",
	"a b tables|alarmed ra wb|store a",
	"a b tables|past ra rb|update wa wb; prune",
}

var overTablesMore = []string{
	"a b tables patience=0|update ra wb|update rb wa",
	"a b tables patience=0|update wa wb|update wb wa",
	"a b tables patience=0|update ma wb|update mb wa",
	"a b tables|update ra wb|retry scan wa",
	"a b- tables|update wa wb|update rb wa|view ra rb",
	"b ordered tables patience=0|update pb wc|update pc wa",
	"ordered patience=0|update wa wb|store a; prune; view pb",
	"ordered patience=0|update wa|store a; view pb|load a",
}

// inOrder are programs over a map whose keys have an order.
var inOrder = []string{
	"ordered|store a|view pb",
	"ordered|store a; load a|load a; view pb",
	"b ordered|update pb wb|store a",
	"a b ordered|update pa wb|store b",
	"a- ordered|prune|store a; view pb",
	"a ordered|delete a; prune|store a; view pb",
	"a ordered|update da wb; prune|view pb",
	"ordered patience=0|update wa wb|load a; view pb",
	"ordered|store a; delete a; prune|load a",
	"a- ordered|update pb wc|prune; store a",
	"b ordered patience=0|update pa wb|update pa wc",
	"b ordered patience=0|update pb wc|update pc wa",
	"b c ordered patience=0|update pb wc|update pc wa", // whose writes come into no leaf
	"a b c ordered patience=0|update pb wc|update pc wa",
	"b ordered|alarmed pb wc|store a",
}

// withIndex are programs over a table with an index, or one that gets it meanwhile. They are
// explored within a bound on preemptions.
var withIndex = []string{
	"a b indexed|update wa wb|view ra x",
	"a indexed|store a|view ra x; view x",
	"a indexed|delete a; prune|view x ra",
	"indexed|store a|store a; view x",
	"a indexed|update x wb|store a",
	"a b indexed patience=0|update x wa|update x wb",
	"a indexed|snapshot wa|snapshot wa; view x",
	"a indexed|loadOrStore b|update mb wa; view x",
	"a indexable|index; view x|store a",
	"a indexable|index; view x|delete a",
	"a- indexable|index; view x|store a; prune",
	"indexable|index; view x|store a",
	"a b indexable|index; view x|update ra wb",
	"a b indexable|index; view x|update wa wb",
	"a indexable|index; view x|update wa wb",
	"a indexable|index; view x|snapshot ra wa",
	"a indexable|index; view x|compute a; cas a=1",
	"a indexable|index|store a; view ra x",
}

// followed are programs beside a watch. They are explored within a bound on preemptions.
var followed = []string{
	"a|follow; hand|store a",
	"patience=1|follow; hand|store a; delete a",
	"a|follow; hand|delete a; store a",
	"a b|follow; hand|update wa wb",
	"a b patience=0|follow; hand|update ra wb",
	"a b tables|follow; hand|update wa wb",
	"a b|follow; hand|snapshot ra wa wb",
	"a|follow; hand|update ma wb",
	"a b ordered|follow; hand|update pa wb",
	"a|follow; hand|store a; prune; refresh",
	"a b|follow; hand|alarmed ra wb",
	"a|follow; hand|store a|load a",
	"a b tables|follow; hand|update wa wb|load a",
	"a b|follow|update wa wb|store a; prune",
}

// expiring are programs beside an actor that makes records expire. They are explored within a bound
// on preemptions.
var expiring = []string{
	"a|expire; thin|store a",
	"patience=1|expire; thin|store a; delete a; store a",
	"a|expire; thin|delete a; store a; store a",
	"a b|expire; thin|update wa wb; store a",
	"a b patience=0|expire; thin|update ra wb; store b",
	"a b tables|expire; thin|update wa wb",
	"a b|expire; thin|snapshot ra wa wb",
	"a|expire; thin|update ma wb; store a",
	"a|expire; thin|store a; store a; prune",
	"a|expire; thin|store a|store a",
	"a b tables|expire; thin|update wa wb|store a",
	"a b|expire|update wa wb|thin",
	"patience=1|expire; thin|store a",
	"patience=1|expire; thin|update wa wb",
	"a b patience=0|expire|store a|update ra wb",
	"a b|expire; rest|store a; store b",
	"a b tables|expire; rest; rest|update wa wb|store a",
	"a|expire; refuse|store a",
	"a|expire; refuse|store a; store a",
	"a b|expire; refuse|update wa wb; store a",
	"a b patience=0|expire; refuse|update ra wb; store b",
	"a|expire; refuse; refuse|delete a; store a",
	"a b tables|expire; refuse|update wa wb|store a",
}

// besideMoves are programs beside an actor that moves buckets. They are explored
// within a bound on preemptions.
var besideMoves = []string{
	"a|grow|store a; load a",
	"a b|grow|store a|load b",
	"a b|grow|cas a=1; delete b",
	"a b|grow|view ra rb; view scan",
	"a b|grow|update scan wb",
	"a b|grow|update ra wb",
	"a b|grow; shrink|store a; load a",
	"a b c wide|shrink|store a; view scan",
}

// anomalies are those of anomaly_test.go with a commit that is stopped halfway while the others
// read and write. They are explored within a bound on preemptions.
var anomalies = []string{
	// G0
	"a b c|update rc wa wb|update wa wb; view ra rb",
	"a b c|snapshot rc wa wb|snapshot wa wb; view ra rb",
	// G1a: the first is refused
	"a b c|update rc wa db|store c; view ra rb",
	"a c|update rc wa wb|store c; swap a; loadAndDelete b",
	// G1b, and commits half visible
	"a b|update wa wb|load a; load b; load a",
	"a b|update wa wb|swap a; view rb ra; load a",
	"a b c|snapshot rc wa wb|swap a; load b; load a",
	"a b c|update rc wa wb|loadOrStore a; view rb; load a",
	// P4
	"a|update ra wa|load a; cas a=1",
	"a|update ra wa|loadAndDelete a; loadOrStore a",
	"a b|update ra wa|retry ra rb wa wb",
	"a|snapshot ra wa|retry ra wa",
	// G-single, OTV
	"a b c|update rc wa wb|view ra rb; load a; view ra rb",
	"a b c|update rc wa wb|update ra rb wc|load a; view ra rb",
	// PMP
	"a b|update da wb wc|view scan; view scan",
	"a b|update da wb wc|update scan; load c",
	// long fork
	"a b|update ra wa|snapshot rb wb|load a; load b; view rb ra",
	"a b|store a|update rb wb|view ra rb; load b; load a",
	// the read-only anomaly
	"a b|update ra rb wa|store b; view ra rb",
	"a b|update ra rb wa|store b; load b; load a",
	"a b|update ra rb wa|update rb wb; view ra rb",
	"a b|update ra rb wa|swap b; view scan",
	// a key read is overwritten before the epoch and after it, and the version between is pruned
	"a|update ra wb|store a; view ra rb; store a; prune",
}

// three are programs of three actors, explored within a bound on preemptions.
var three = []string{
	"a-|store a|loadAndDelete a|prune",
	"a b|store a|store b|view ra rb",
	"a b|update wa wb|load a; load b|load b; load a",
	"a b|update wa wb; update wa wb|load a|view ra rb",
	"a b c|update rc wa wb|view ra rb|view ra",
	"a+ b|view ra rb|store a|refresh; prune",
	"a b|update ra wb|store a; load b|view rb",
	"a- b|update ra wb|store a|prune",
	"a b|update ra wb|update rb wa|view ra rb",
	"a b|update ma wb|update ma|compute a",
	"a+|view ra|store a; prune|refresh; prune",
	"b|alarmed ra wb|store a; delete a|view ra rb",
	"a b c|update rc wa wb|store c; store a|prune",
	"a b c|update rb wa|store c; load a|view rc ra",
}
