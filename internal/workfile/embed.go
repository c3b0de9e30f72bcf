package workfile

import (
	"embed"
	"path"
)

//go:embed files/*.json
var shipped embed.FS

// order is that in which the shipped files are listed.
var order = []string{
	"ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-e", "ycsb-f", "smallbank", "tatp", "tpcc",
}

// Shipped returns the files that the program has within it. They are made anew.
func Shipped() (list []*File) {
	for _, name := range order {
		f, err := Parse(name+".json", Data(name))
		if err != nil {
			panic(err) // a test parses all
		}
		list = append(list, f)
	}
	return list
}

// Data returns the text of a shipped file, nil if there is none of that name.
func Data(name string) []byte {
	data, err := shipped.ReadFile(path.Join("files", name+".json"))
	if err != nil {
		return nil
	}
	return data
}
