// The tools of the build have a module of their own, so that what they need
// stays out of the go.mod that users of the library see.
module github.com/mvccmap/mvccmap/internal/ci

go 1.26.8

require (
	github.com/stretchr/testify v1.12.1
	golang.org/x/mod v0.42.0
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect
