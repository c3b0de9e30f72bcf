package journey

import (
	"testing"

	"github.com/mvccmap/mvccmap/internal/leak"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }
