// An empty program, whose start is the measure of brink's.
package main

func main() {}
