package sum

import (
	"os"
	"testing"
)

func TestMax(t *testing.T) {
	for _, c := range []struct {
		name       string
		a, b, want int
	}{{"left", 2, 1, 2}, {"right", 1, 2, 2}} {
		t.Run(c.name, func(t *testing.T) {
			if got := Max(c.a, c.b); got != c.want {
				t.Errorf("Max(%d, %d) = %d, want %d", c.a, c.b, got, c.want)
			}
		})
	}
}

func TestMaxOfEqual(t *testing.T) {
	if got := Max(3, 3); got != 3 {
		t.Errorf("Max(3, 3) = %d", got)
	}
}

func TestCountdown(t *testing.T) {
	if got := Countdown(3); got != 3 {
		t.Errorf("Countdown(3) = %d, want 3", got)
	}
}

func TestSkipped(t *testing.T) {
	t.Skip("never runs")
}

func TestFails(t *testing.T) {
	t.Error("fails on the clean tree")
}

// TestNoticesLate notices something when it runs for the third time: the first is on the clean tree.
func TestNoticesLate(t *testing.T) {
	file := os.Getenv("SAMPLE_RUNS")
	if file == "" {
		t.Skip("nobody counts")
	}
	before, _ := os.ReadFile(file)
	if err := os.WriteFile(file, append(before, '.'), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := Max(1, 2); len(before) == 2 && got != 2 {
		t.Errorf("Max(1, 2) = %d", got)
	}
}
