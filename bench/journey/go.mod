module github.com/mvccmap/mvccmap/bench/journey

go 1.26.8

replace github.com/mvccmap/mvccmap => ../..

require (
	github.com/mvccmap/mvccmap v0.0.0
	github.com/puzpuzpuz/xsync/v4 v4.5.0
	github.com/stretchr/testify v1.12.1
	github.com/tidwall/btree v1.8.2
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect
