import Testing

/// Nodes with real sockets. One test at a time: they measure how long others are kept waiting, and wait themselves in
/// system calls, which must not hold up the threads that all tests share.
@Suite(.serialized) enum NodeTests {}
