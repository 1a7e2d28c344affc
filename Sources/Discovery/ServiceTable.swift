/// One instance on one interface, as the responder names it. Bytes, because names are a stranger's choice.
struct ServiceKey: Hashable {
    var interfaceIndex: UInt32
    var name: [UInt8]
    var type: [UInt8]
    var domain: [UInt8]
}

/// What browsing has reported and not taken back.
///
/// The responder reports every key once for each address family and takes it back as often, so references are counted.
/// A new browse reports everything anew: what it does not confirm within a while has gone in between.
struct ServiceTable {
    /// Keys kept at most: some hundred machines with a few interfaces each. Who floods the network with names gains no
    /// more memory than this.
    static let countMax = 2_048

    struct Entry {
        fileprivate(set) var references = 1
        /// Reported by the browse that runs now.
        fileprivate(set) var isConfirmed = true
        /// Position in the order of arrival.
        fileprivate let order: UInt64
        /// A job for it waits or runs.
        var isBusy = false
        /// To be resolved once more after the present job, which may have answered from before the wish.
        var mustRepeat = false
        /// What is known of it while its addresses are being asked for.
        var answer: Answer?
        /// A sighting was reported.
        var isFound = false
        /// Attempts since the last success.
        var failures = 0
        /// When to resolve it again after a failure.
        var retryAtMs: Int64?
    }

    private var entries: [ServiceKey: Entry] = [:]
    private var lastOrder: UInt64 = 0

    subscript(key: ServiceKey) -> Entry? {
        get { entries[key] }
        // Never inserts: only `add` does.
        set { if entries[key] != nil { entries[key] = newValue } }
    }

    /// Counts a report; true if it is the first one in this browse.
    mutating func add(_ key: ServiceKey) -> Bool {
        if var entry = entries[key] {
            let isFirst = !entry.isConfirmed
            entry.references = isFirst ? 1 : min(entry.references, .max - 1) + 1
            entry.isConfirmed = true
            entries[key] = entry
            return isFirst
        }
        guard entries.count < Self.countMax else {
            return false
        }
        lastOrder += 1
        entries[key] = Entry(order: lastOrder)
        return true
    }

    /// Takes a report back; returns the entry if it was the last one.
    mutating func remove(_ key: ServiceKey) -> Entry? {
        guard var entry = entries[key], entry.isConfirmed else {
            return nil
        }
        entry.references -= 1
        guard entry.references <= 0 else {
            entries[key] = entry
            return nil
        }
        entries[key] = nil
        return entry
    }

    /// To be called when a browse ends: from now on every key awaits the next one's report.
    mutating func unconfirmAll() {
        for key in entries.keys {
            entries[key]?.isConfirmed = false
        }
    }

    /// Drops what no report has confirmed, oldest first.
    mutating func removeUnconfirmed() -> [(key: ServiceKey, entry: Entry)] {
        let gone = keys { !$0.isConfirmed }
        return gone.compactMap { key in
            entries.removeValue(forKey: key).map { (key, $0) }
        }
    }

    /// The keys whose entries fulfil the condition, oldest first.
    func keys(where isWanted: (Entry) -> Bool) -> [ServiceKey] {
        entries.filter { isWanted($0.value) }.sorted { $0.value.order < $1.value.order }.map(\.key)
    }

    /// The keys of that name, oldest first.
    func keys(named name: [UInt8]) -> [ServiceKey] {
        entries.filter { $0.key.name == name }.sorted { $0.value.order < $1.value.order }.map(\.key)
    }

    /// The earliest time at which an entry wants attention.
    var nextMs: Int64? {
        entries.values.lazy.compactMap { entry in
            [entry.retryAtMs, entry.answer?.reportAtMs].compactMap { $0 }.min()
        }.min()
    }
}

/// What resolving has told, with the addresses as they come in.
struct Answer {
    /// Addresses kept at most.
    static let addressesMax = 16

    let host: [UInt8]
    let port: UInt16
    let txt: [String: [UInt8]]
    private(set) var addresses: [Sighting.Address] = []
    /// Families that are still being asked for, in this order.
    var pending = AddressFamily.allCases
    /// Families that have answered.
    private(set) var answered: Set<AddressFamily> = []
    /// How many of the addresses have been reported.
    var reportedCount = 0
    /// When to report what is there, because the other family may take long or never come.
    var reportAtMs: Int64?

    /// Takes an address in the form of an A or AAAA record's data; others are ignored.
    mutating func add(_ data: [UInt8], _ family: AddressFamily, interfaceIndex: UInt32) {
        guard data.count == family.sizeBytes, addresses.count < Self.addressesMax else {
            return
        }
        answered.insert(family)
        let isLinkLocal = family == .ipv6 && data[0] == 0xfe && data[1] & 0xc0 == 0x80
        let address = Sighting.Address(bytes: data, scopeID: isLinkLocal ? interfaceIndex : 0)
        if !addresses.contains(address) {
            addresses.append(address)
        }
    }
}

/// The address families that are asked for.
enum AddressFamily: Hashable, CaseIterable {
    case ipv4, ipv6

    /// Bytes of an address.
    var sizeBytes: Int {
        switch self {
        case .ipv4: 4
        case .ipv6: 16
        }
    }

    /// The DNS record type, A or AAAA (RFC 1035, RFC 3596).
    var recordType: UInt16 {
        switch self {
        case .ipv4: 1
        case .ipv6: 28
        }
    }
}
