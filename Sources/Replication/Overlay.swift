internal import Seal
internal import Wire

/// Whom this node keeps links to.
///
/// Up to ``Replicator/everybodyMax`` nodes everybody, above that two views of the network, as HyParView keeps them
/// (Leitão, Pereira and Rodrigues, 2007): the *active view*, which is the nodes it has links to, and the *passive
/// view*, nodes it could have links to, whose entries take the place of what fails. Links are symmetric; who has enough
/// of them says DISCONNECT to one, and both ends remember the other in their passive view.
///
/// A value without clock: the time is given, and what it draws comes from the seed.
struct Overlay: Sendable {
    /// Links of a node with views. Below the first it looks for neighbours at once; up to the second it takes whoever
    /// asks; it lets go of what exceeds that. Without the play between them no newcomer would find a free place.
    static let activeMin = 6
    static let activeMax = 8
    static let passiveMax = 48
    /// The walk of a newcomer's address, and how far before its end the address is also remembered.
    static let joinHops = 6
    static let joinPassiveHops = 3
    /// The walk of a shuffle, and what it carries of the two views.
    static let shuffleHops = 6
    static let shuffleActive = 3
    static let shufflePassive = 4
    static let shuffleMs: UInt64 = 30_000
    /// So often a node takes a link to somebody new in exchange for one it has: two halves of a network of which
    /// each has all the links it wants find each other again this way.
    static let exploreMs: UInt64 = 300_000
    /// Dials begin this far apart while links are missing, and so many may be under way.
    static let dialMs: UInt64 = 250
    static let dialsMax = 8
    /// A dial that has not led to a link after this long has failed; the shell gives up after 3 s.
    static let dialTimeoutMs: UInt64 = 4000
    /// The shell is asked for other addresses this often at first; ever less while that does not help.
    static let anyMs: UInt64 = 1000
    static let anyMsMax: UInt64 = 30_000
    /// Links beyond the active view are let go this far apart: the other end is told, and has time to say that it has
    /// few.
    static let trimMs: UInt64 = 250
    /// A link this young is not let go to make room.
    static let graceMs: UInt64 = 2000
    /// Who had no room, or let this node go, is not asked again before this.
    static let refusedMs: UInt64 = 60_000
    /// A link is pruned after so much in a row has come from it in vain. One message leaves of the eager links those of
    /// its own way; two at the same time, if they pruned at once, what their ways have in common, and that is no tree.
    static let vainMax = 4
    /// A neighbour's walks go on this far apart; every one makes others work, and honest ones are rare.
    static let walkMs: UInt64 = 100
    /// Ways back of shuffles that are remembered.
    static let routesMax = 64

    enum Action: Sendable, Equatable {
        case send(LinkID, PeerMessage)
        case sendNeighbour(LinkID, NeighbourPriority)
        /// Dial a node; only views ask for that.
        case connect(PeerAddress)
        /// Dial so many of the addresses that the shell has heard of.
        case connectAny(Int)
        /// Close the link: nothing is wrong with it.
        case demote(LinkID)
        /// Whether the shell dials whatever it hears of, or only what it is asked to.
        case dialEverybody(Bool)
        case learned([PeerAddress])
    }

    struct Neighbour: Sendable {
        let peer: Bytes32
        let upMs: UInt64
        /// Whether messages are pushed there; otherwise only announced.
        var isEager: Bool
        /// Things in a row that came from there in vain.
        var vain = 0
        /// Links the peer has, as last heard.
        var links: Int?
        /// Has not answered for a while: probably gone.
        var isSuspect = false
        /// It got all soft state, and was passed on as a newcomer: each once a link, or a few bytes would cost many.
        var isFilled = false
        var hasJoined = false
        /// No walk is taken from there before this.
        var walkDueMs: UInt64 = 0
    }

    struct Passive: Sendable {
        var address: PeerAddress
        var notBeforeMs: UInt64 = 0
    }

    let own: Bytes32
    /// The nodes up to which everybody links to everybody, and below which that begins again. Apart, so that a
    /// workspace of about that size does not go back and forth.
    let everybodyMax: Int
    var everybodyAgain: Int { everybodyMax * 3 / 4 }
    var random: SmallGenerator
    /// False: views of the network.
    private(set) var hasEverybody = true
    /// Counts what may call for a look before anything is due.
    private(set) var changes = 0
    var neighbours: [LinkID: Neighbour] = [:]
    var passive: [Passive] = []
    /// Where connected nodes can be dialled.
    var addresses: [Bytes32: String] = [:]
    /// Dials under way; whether the other end is to make room, and when they count as failed.
    var dials: [Bytes32: (address: PeerAddress, isPressing: Bool, untilMs: UInt64)] = [:]
    var routes: [(origin: Bytes32, back: LinkID)] = []
    /// Eager links that are gone and not replaced.
    private var eagerLost = 0
    private var hasJoined = false
    private var dialDueMs: UInt64 = 0
    private var anyDueMs: UInt64 = 0
    private var anyDelayMs = Overlay.anyMs
    /// Until then whoever answers an address of the shell's is asked to make room.
    private var pressingUntilMs: UInt64 = 0
    private var trimDueMs: UInt64 = 0
    private var shuffleDueMs: UInt64 = 0
    private var exploreDueMs: UInt64 = 0

    init(own: Bytes32, seed: UInt64, everybodyMax: Int = Replicator.everybodyMax) {
        self.own = own
        self.everybodyMax = everybodyMax
        random = SmallGenerator(seed: seed)
    }

    /// Links in a fixed order.
    var orderedLinks: [LinkID] { neighbours.keys.sorted() }

    /// Neighbours that answer.
    var activeCount: Int { neighbours.values.count { !$0.isSuspect } }

    func isNeighbour(_ node: Bytes32) -> Bool { neighbours.values.contains { $0.peer == node } }

    // MARK: Links

    /// A handshake is complete. Returns what the other end is told of it.
    mutating func up(_ link: LinkID, _ peer: Bytes32, nowMs: UInt64) -> NeighbourPriority {
        changes += 1
        let isAlone = activeCount == 0
        let dial = dials.removeValue(forKey: peer)
        neighbours[link] = Neighbour(peer: peer, upMs: nowMs, isEager: startsEager)
        passive.removeAll { $0.address.node == peer }
        anyDelayMs = Overlay.anyMs
        if hasEverybody { return .everybody }
        if isAlone, !hasJoined {
            hasJoined = true
            return .join
        }
        return isAlone || dial?.isPressing ?? (nowMs < pressingUntilMs) ? .high : .low
    }

    /// A link more in a tree that needs none makes a circle, and where that is cut is chance: two messages at the same
    /// time may cut it twice. So a new link is eager only where one is missing.
    private var startsEager: Bool {
        mutating get {
            if hasEverybody { return true }
            if eagerLost > 0 {
                eagerLost -= 1
                return true
            }
            return !neighbours.values.contains { $0.isEager }
        }
    }

    mutating func down(_ link: LinkID, nowMs: UInt64) {
        changes += 1
        if neighbours[link]?.isEager == true, !hasEverybody { eagerLost = min(eagerLost + 1, Overlay.activeMax) }
        neighbours[link] = nil
        routes.removeAll { $0.back == link }
        anyDelayMs = Overlay.anyMs
        anyDueMs = min(anyDueMs, nowMs)
    }

    /// Something came from there first: the tree needs the link.
    mutating func brought(_ link: LinkID) {
        neighbours[link]?.isEager = true
        neighbours[link]?.vain = 0
    }

    /// Something came from there in vain. Returns whether the link is to be pruned.
    mutating func broughtInVain(_ link: LinkID) -> Bool {
        guard let vain = neighbours[link]?.vain else { return false }
        let isPruned = vain + 1 >= Overlay.vainMax
        neighbours[link]?.vain = isPruned ? 0 : vain + 1
        if isPruned { neighbours[link]?.isEager = false }
        return isPruned
    }

    /// Something was heard on a link, or not for too long.
    mutating func setSuspect(_ link: LinkID, _ isSuspect: Bool) {
        guard let before = neighbours[link]?.isSuspect, before != isSuspect else { return }
        changes += 1
        neighbours[link]?.isSuspect = isSuspect
    }

    /// A dial led nowhere: the shell says so, or nothing came of it in time.
    mutating func unreachable(_ address: String, nowMs: UInt64) {
        changes += 1
        for (node, dial) in dials where dial.address.address == address {
            dials[node] = nil
            passive.removeAll { $0.address == dial.address }
            dialDueMs = min(dialDueMs, nowMs)
        }
    }

    /// Both ends keep in mind whom they let go.
    mutating func remember(_ peer: Bytes32, nowMs: UInt64) {
        guard let address = addresses[peer] else { return }
        insert(PeerAddress(node: peer, address: address), notBeforeMs: nowMs &+ Overlay.refusedMs, unlessLinked: false)
    }

    mutating func demote(_ link: LinkID, nowMs: UInt64, _ actions: inout [Action]) {
        guard let neighbour = neighbours[link] else { return }
        remember(neighbour.peer, nowMs: nowMs)
        actions.append(.send(link, .disconnect))
        actions.append(.demote(link))
    }

    // MARK: Passive view

    mutating func learn(_ told: [PeerAddress]) {
        for address in told.prefix(Overlay.passiveMax) { insert(address, notBeforeMs: 0, unlessLinked: true) }
    }

    private mutating func insert(_ address: PeerAddress, notBeforeMs: UInt64, unlessLinked: Bool) {
        guard address.node != own, !(unlessLinked && isNeighbour(address.node)) else { return }
        if let index = passive.firstIndex(where: { $0.address.node == address.node }) {
            passive[index].address = address
            passive[index].notBeforeMs = max(passive[index].notBeforeMs, notBeforeMs)
            return
        }
        if passive.count >= Overlay.passiveMax { passive.remove(at: Int.random(in: passive.indices, using: &random)) }
        passive.append(Passive(address: address, notBeforeMs: notBeforeMs))
    }

    /// Some entries of the passive view, each once.
    mutating func samplePassive(_ count: Int) -> [PeerAddress] {
        passive.map(\.address).shuffled(using: &random).prefix(count).map { $0 }
    }

    // MARK: Time

    /// Everything that is due. `size` is how many nodes there seem to be, this one among them.
    mutating func tick(size: Int, nowMs: UInt64) -> [Action] {
        var actions: [Action] = []
        if hasEverybody, size > everybodyMax {
            takeViews(nowMs, &actions)
        } else if !hasEverybody, size < everybodyAgain {
            hasEverybody = true
            dials = [:]
            actions.append(.dialEverybody(true))
            if !passive.isEmpty { actions.append(.learned(passive.map(\.address))) }
        }
        guard !hasEverybody else { return actions }
        for node in dials.filter({ $0.value.untilMs <= nowMs }).keys.sorted() {
            if let address = dials[node]?.address.address { unreachable(address, nowMs: nowMs) }
        }
        fill(nowMs, &actions)
        trim(nowMs, &actions)
        if nowMs >= shuffleDueMs { shuffle(nowMs, &actions) }
        if nowMs >= exploreDueMs { explore(nowMs, &actions) }
        return actions
    }

    /// When ``tick(size:nowMs:)`` has something to do; nil while links are kept to everybody.
    var nextDeadlineMs: UInt64? {
        guard !hasEverybody else { return nil }
        var due = min(shuffleDueMs, exploreDueMs)
        if let dial = dials.values.map(\.untilMs).min() { due = min(due, dial) }
        if activeCount < Overlay.activeMin {
            if dials.count < Overlay.dialsMax, let candidateMs { due = min(due, max(dialDueMs, candidateMs)) }
            if dials.isEmpty { due = min(due, anyDueMs) }
        }
        if isOverfull { due = min(due, trimDueMs) }
        return due
    }

    private mutating func takeViews(_ nowMs: UInt64, _ actions: inout [Action]) {
        hasEverybody = false
        actions.append(.dialEverybody(false))
        shuffleDueMs = nowMs &+ UInt64.random(in: 0..<Overlay.shuffleMs, using: &random)
        exploreDueMs = nowMs &+ UInt64.random(in: Overlay.exploreMs / 2..<Overlay.exploreMs, using: &random)
        dialDueMs = nowMs
        trimDueMs = nowMs &+ UInt64.random(in: 0..<Overlay.trimMs, using: &random)
        // A newcomer has few links and asks the first of them to make it known.
        guard !hasJoined, neighbours.count < Overlay.activeMin, let first = orderedLinks.first else { return }
        hasJoined = true
        actions.append(.sendNeighbour(first, .join))
    }

    /// When the first entry of the passive view may be dialled; nil if there is none.
    private var candidateMs: UInt64? {
        passive.filter { dials[$0.address.node] == nil }.map(\.notBeforeMs).min()
    }

    private mutating func fill(_ nowMs: UInt64, _ actions: inout [Action]) {
        guard activeCount < Overlay.activeMin else { return }
        if nowMs >= dialDueMs {
            // One at a time spares the others handshakes; who is alone cannot wait.
            for _ in 0..<(activeCount < 2 ? 2 : 1) where dials.count < Overlay.dialsMax {
                guard dialOne(isPressing: false, nowMs, &actions) else { break }
                dialDueMs = nowMs &+ Overlay.dialMs
            }
        }
        if dials.isEmpty, nowMs >= anyDueMs {
            actions.append(.connectAny(Overlay.activeMin - activeCount))
            anyDueMs = nowMs &+ anyDelayMs
            anyDelayMs = min(anyDelayMs * 2, Overlay.anyMsMax)
        }
    }

    /// Dials an entry of the passive view; false if none may be dialled now.
    private mutating func dialOne(isPressing: Bool, _ nowMs: UInt64, _ actions: inout [Action]) -> Bool {
        let ready = passive.filter { $0.notBeforeMs <= nowMs && dials[$0.address.node] == nil }
        guard let chosen = ready.randomElement(using: &random)?.address else { return false }
        dial(chosen, isPressing: isPressing, nowMs, &actions)
        return true
    }

    mutating func dial(_ address: PeerAddress, isPressing: Bool, _ nowMs: UInt64, _ actions: inout [Action]) {
        guard address.node != own, !isNeighbour(address.node), dials[address.node] == nil,
            dials.count < Overlay.dialsMax
        else { return }
        dials[address.node] = (address, isPressing, nowMs &+ Overlay.dialTimeoutMs)
        actions.append(.connect(address))
    }

    private var isOverfull: Bool { activeCount > Overlay.activeMax }

    private mutating func trim(_ nowMs: UInt64, _ actions: inout [Action]) {
        guard isOverfull, nowMs >= trimDueMs else { return }
        trimDueMs = nowMs &+ UInt64.random(in: Overlay.trimMs / 2..<Overlay.trimMs * 2, using: &random)
        let spare = orderedLinks.filter { link in
            guard let neighbour = neighbours[link], !neighbour.isSuspect else { return false }
            return neighbour.upMs &+ Overlay.graceMs <= nowMs && neighbour.links ?? .max > Overlay.activeMin
        }
        let lazy = spare.filter { neighbours[$0]?.isEager == false }
        let chosen = (lazy.isEmpty ? spare : lazy).randomElement(using: &random)
        if let chosen { demote(chosen, nowMs: nowMs, &actions) }
    }

    private mutating func shuffle(_ nowMs: UInt64, _ actions: inout [Action]) {
        shuffleDueMs = nowMs &+ jittered(Overlay.shuffleMs)
        if activeCount < Overlay.activeMax, dials.isEmpty { _ = dialOne(isPressing: false, nowMs, &actions) }
        guard let link = orderedLinks.randomElement(using: &random) else { return }
        let peers = neighbours.values.map(\.peer).sorted().shuffled(using: &random)
        var list = peers.prefix(Overlay.shuffleActive).compactMap { peer in
            addresses[peer].map { PeerAddress(node: peer, address: $0) }
        }
        list += samplePassive(Overlay.shufflePassive)
        actions.append(.send(link, .shuffle(origin: own, hops: Overlay.shuffleHops, list)))
    }

    private mutating func explore(_ nowMs: UInt64, _ actions: inout [Action]) {
        exploreDueMs = nowMs &+ jittered(Overlay.exploreMs)
        // Entries of the passive view come from neighbours; only the shell may know of somebody they do not.
        if Bool.random(using: &random), dialOne(isPressing: true, nowMs, &actions) { return }
        pressingUntilMs = nowMs &+ Overlay.dialTimeoutMs
        actions.append(.connectAny(1))
    }

    /// Spread over ±25 %, so that nodes that started together do not stay in step.
    private mutating func jittered(_ ms: UInt64) -> UInt64 {
        UInt64.random(in: ms * 3 / 4...ms * 5 / 4, using: &random)
    }
}
