internal import Glibc

enum Clock {
    /// The clock's reading in nanoseconds (clock_gettime(2)); 0 for a clock the system does not have.
    static func nowNs(_ clock: clockid_t) -> UInt64 {
        var time = timespec()
        guard unsafe clock_gettime(clock, &time) == 0 else { return 0 }
        return UInt64(clamping: time.tv_sec) &* 1_000_000_000 &+ UInt64(clamping: time.tv_nsec)
    }
}
