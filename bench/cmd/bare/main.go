// Command bare does nothing: what a Go program costs before it does anything is the
// floor that the suite measures others against.
package main

func main() {}
