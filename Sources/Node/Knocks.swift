internal import Net

/// How often handshakes begin from one address: each costs this node four times what it costs whoever begins it, a
/// quarter of a millisecond of the thread on which everything happens.
///
/// A value without a clock.
struct Knocks {
    /// At once: more nodes than any machine runs, all of them started together.
    var burst: UInt64 = 256
    /// A second after it: less than one hundredth of a core.
    var rate: UInt64 = 32
    /// Addresses that are remembered; those that have not knocked for long are forgotten first.
    static let addressesMax = 256

    private struct Debt {
        /// In thousandths of a handshake.
        var spent: UInt64
        var atMs: UInt64
    }

    private var debts: [[UInt8]: Debt] = [:]

    /// Addresses that are remembered.
    var count: Int { debts.count }

    private func left(_ debt: Debt, _ nowMs: UInt64) -> UInt64 {
        let elapsedMs = min(nowMs &- min(debt.atMs, nowMs), 1 << 32)
        return debt.spent - min(debt.spent, elapsedMs &* rate)
    }

    /// Whether another one may begin; it is counted then.
    ///
    /// - `nowMs`: monotonic milliseconds.
    mutating func admits(_ address: [UInt8], nowMs: UInt64) -> Bool {
        let spent = debts[address].map { left($0, nowMs) } ?? 0
        guard spent &+ 1000 <= burst &* 1000 else { return false }
        debts[address] = Debt(spent: spent &+ 1000, atMs: nowMs)
        if debts.count > Knocks.addressesMax {
            debts = debts.filter { left($0.value, nowMs) > 0 }
            // As many with debts: the one that owes least is let go.
            if debts.count > Knocks.addressesMax, let least = debts.min(by: { $0.value.spent < $1.value.spent }) {
                debts[least.key] = nil
            }
        }
        return true
    }
}
