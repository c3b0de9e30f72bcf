// Package oracle has only tests: random programs over a map, with an order or without, or over a
// database of several tables, with order and indexes, beside a model of Go maps.
package oracle
