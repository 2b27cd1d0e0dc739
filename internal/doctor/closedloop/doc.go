// Package closedloop holds no code, only tests of doctor as a whole. Each failure
// mode that brink can cause is caused, by real servers on this machine or in a
// virtual machine of brink's own, and doctor has to name it from the live kernel.
// The healthy twin of each, the same servers under honest load, it must not.
//
// The tests take ten minutes in all, which is go test's own limit: -timeout 20m.
// Those whose name begins with Local or that speak of windows use this machine,
// the others virtual ones.
//
// A state is held until it is seen, a bounded number of windows long, and never
// raced: the machine that runs the tests may be slow.
package closedloop
