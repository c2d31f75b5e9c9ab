package tui

import (
	"reflect"
	"testing"
	"time"
)

// Each language has every text.
func TestCataloguesAreWhole(t *testing.T) {
	for name, w := range map[string]*words{"English": english(), "Chinese": chinese()} {
		v := reflect.ValueOf(*w)
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("%s has no %s", name, v.Type().Field(i).Name)
			}
		}
		for _, d := range []time.Duration{0, time.Minute, 5 * time.Hour, 100 * time.Hour} {
			if w.age(d) == "" {
				t.Errorf("%s has no age for %s", name, d)
			}
		}
	}
	if wordsOf("zh_CN.UTF-8").done == wordsOf("C").done {
		t.Error("the locale does not matter")
	}
}
