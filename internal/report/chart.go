package report

// A section is the charts and the table of one workload.
type section struct {
	Workload string     `json:"-"`
	Rows     [][]string `json:"-"` // of the table of medians
	Heat     []heatMap  `json:"-"` // if there are too many charts
	Times    [][]string `json:"-"` // of the table of what is drawn over time, without its head
	Charts   []chart    `json:"charts"`
}

// A chart is what is to be drawn; report.js does so.
type chart struct {
	Title  string   `json:"title"`
	About  string   `json:"about"`
	X      xAxis    `json:"x"`
	Y      yAxis    `json:"y"`
	Series []series `json:"series"`
}

// xAxis describes the x axis of a chart. To the page it is always linear: the values of another
// scale are placed here.
type xAxis struct {
	Label string `json:"label"`
	Ticks []tick `json:"ticks"` // of all points, the most important ones first; or of some
	Unit  string `json:"unit"`  // of x, if not all points have ticks
}

type tick struct {
	At    float64 `json:"at"`
	Label string  `json:"label"`
}

// yAxis describes the y axis of a chart.
type yAxis struct {
	Unit string `json:"unit"` // as charts.js knows it
	Log  bool   `json:"log"`
}

// series is one line of a chart.
type series struct {
	Name string `json:"name"`
	// Place is the same for an engine in all charts: it is what chooses the colour.
	Place  int     `json:"place"`
	Points []point `json:"points"`
}

// point is the median of the samples of one combination, with the smallest and the largest of them.
type point struct {
	X   float64 `json:"x"` // where it is on the axis
	Y   float64 `json:"y"`
	Min float64 `json:"min"`
	Max float64 `json:"max"`
}
