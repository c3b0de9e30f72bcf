// The assembler file lets the compiler accept the functions without a body in
// pool_pin.go.
