internal import Tree
internal import Wire

/// How many entries are looked at because a peer asks for it, without a pace of its own as what is sent has. What is
/// counted are readings of up to ``entries`` entries, a millisecond or so each.
enum ScanQuota {
    static let entries = 1024
    /// Readings for a peer. Who catches up with a million entries that differ everywhere needs some 2,000 at once; in
    /// the long run it is less than a tenth of a core.
    static let ofPeer: Allowance.Limits = (burst: 8192, rate: 64)
    /// The end of a channel, up to a thousand entries at their places.
    static let tail: UInt64 = 4
}

extension Replicator {
    /// Takes readings from a peer's quota; false if there is none left.
    mutating func takesScan(_ link: LinkID, _ readings: UInt64, _ nowMs: UInt64) -> Bool {
        guard let peer = links[link]?.peer else { return false }
        return accounts.with(peer, nowMs: nowMs) { account in
            guard account.scans.hasRoom(nowMs: nowMs) else { return false }
            account.scans.spend(readings)
            return true
        }
    }

    /// What a comparison of a bucket costs: one reading, and where its children are not stored those that add them up.
    func readings(of bucket: TimeBucket, _ replica: any ReplicaReader) throws -> UInt64 {
        guard bucket.level >= TimeBucket.storedLevelMax else { return 1 }
        let count = min(try replica.digest(of: bucket).count, Reconciler.scannedMax)
        return 1 + UInt64(count / ScanQuota.entries)
    }
}
