package cli

// journeyAnswers is "mvccbench journey answers".
type journeyAnswers struct {
}

func (c *journeyAnswers) Run(e *env) error { return nil }
