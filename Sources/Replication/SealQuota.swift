/// How many announced bundles are looked at. To look at one takes a signature and the stamps of thousands of entries;
/// what is let pass does no harm, for its entries stay signed singly here.
enum SealQuota {
    /// Announcements of a peer: an author who signs a million old entries together announces two or three a second.
    static let ofPeer: Allowance.Limits = (burst: 64, rate: 4)
    /// One that was in vain counts as so many.
    static let vain: UInt64 = 4
    /// Those in vain of all peers together: identities cost nothing.
    static let vainOfAll: Allowance.Limits = (burst: 64, rate: 8)
}
