extension Replicator {
    /// How much this node keeps in memory for others, for tests that hold it against bounds.
    public struct Sizes: Sendable {
        /// Entries asked for, by whom they were asked.
        public var inFlight = 0
        /// Entries to be offered.
        public var offers = 0
        /// Entries not to be asked for again.
        public var remembered = 0
        /// Places of soft state, and what this node itself says.
        public var soft = 0
        public var ownSoft = 0
        public var links = 0
        /// Of all links together: entries asked for, entries to be asked for, buckets to be looked at, entries owed.
        public var outstanding = 0
        public var waiting = 0
        public var buckets = 0
        public var owed = 0
        /// Of the links, the one with most.
        public var waitingMax = 0
        public var bucketsMax = 0
        public var owedMax = 0
    }

    public var sizes: Sizes {
        var sizes = Sizes()
        sizes.inFlight = inFlight.count
        sizes.offers = offers.count
        sizes.remembered = remembered.count
        sizes.soft = soft.slotCount
        sizes.ownSoft = localSoft.count
        sizes.links = links.count
        for link in links.values {
            sizes.outstanding += link.reconciler.outstanding.count
            sizes.waiting += link.reconciler.waitingCount
            sizes.buckets += link.reconciler.bucketCount
            sizes.owed += link.debt.count
            sizes.waitingMax = max(sizes.waitingMax, link.reconciler.waitingCount)
            sizes.bucketsMax = max(sizes.bucketsMax, link.reconciler.bucketCount)
            sizes.owedMax = max(sizes.owedMax, link.debt.count)
        }
        return sizes
    }
}
