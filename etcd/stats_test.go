package etcd

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each field of Stats is in one of the Values.
func TestValuesHaveAllStats(t *testing.T) {
	none := Stats{}.values()
	for i := range reflect.TypeFor[Stats]().NumField() {
		field := reflect.TypeFor[Stats]().Field(i)
		if !field.IsExported() {
			continue
		}
		var s Stats
		switch v := reflect.ValueOf(&s).Elem().Field(i); {
		case v.CanUint():
			v.SetUint(7)
		case v.CanInt():
			v.SetInt(7)
		default:
			t.Fatalf("%s: of a kind that this test does not know", field.Name)
		}
		require.NotEqual(t, none, s.values(), "%s is in no value", field.Name)
	}
}
