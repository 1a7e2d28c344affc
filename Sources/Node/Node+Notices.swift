internal import ControlAPI
internal import Net
internal import Replication
internal import Seal
internal import Tree

/// What a person should know about: each is told once, in the log, to the clients that ask for it and in `status`, and
/// again when it is over.
struct Notices {
    struct Key: Hashable {
        let kind: NoticeRow.Kind
        let uid: String?
    }

    private var current: [Key: NoticeRow] = [:]

    /// In a fixed order.
    var rows: [NoticeRow] {
        current.values.sorted { a, b in
            a.kind != b.kind ? a.kind.rawValue < b.kind.rawValue : (a.uid ?? "") < (b.uid ?? "")
        }
    }

    /// Takes note; nil if it is known already, whatever the words.
    mutating func begin(_ row: NoticeRow) -> NoticeRow? {
        let key = Key(kind: row.kind, uid: row.uid)
        let isKnown = current.updateValue(row, forKey: key) != nil
        return isKnown ? nil : row
    }

    /// Takes note that something is over; nil if it was not known.
    mutating func end(_ kind: NoticeRow.Kind, uid: String?, _ text: String) -> NoticeRow? {
        guard current.removeValue(forKey: Key(kind: kind, uid: uid)) != nil else { return nil }
        return NoticeRow(kind: kind, uid: uid, text: text, isOver: true)
    }
}

extension Node {
    func nodeObserve(_ session: ControlSession, _ id: JSON?) throws -> JSON? {
        let rows = currentNotices()
        try subscribe(session, .notices, id) { number in rows.lazy.map { Node.noticeEvent(number, $0) } }
        return nil
    }

    private static func noticeEvent(_ number: Int, _ row: NoticeRow) -> JSON {
        RPCResponse.notification(
            "event", ["subscription": .int(Int64(number)), "event": "notice", "notice": row.json])
    }

    func begin(_ row: NoticeRow) {
        guard let news = notices.begin(row) else { return }
        logOutside(.warning, news.text)
        tell(news)
    }

    func end(_ kind: NoticeRow.Kind, uid: String? = nil, _ text: String) {
        guard let news = notices.end(kind, uid: uid, text) else { return }
        logOutside(.info, news.text)
        tell(news)
    }

    private func tell(_ row: NoticeRow) {
        for number in subscriptions.notices.sorted() {
            guard let session = subscriptions[number].flatMap({ sessions[$0.session] }) else { continue }
            session.send(Node.noticeEvent(number, row))
        }
    }

    // MARK: Clones

    /// Follows what replication knows of keys that two live nodes have.
    func clonesChanged() {
        let keys = replicator.clonedKeys
        for key in keys where !clones.contains(key) {
            begin(NoticeRow(kind: .clone, uid: UID.text(key), text: words(ofClone: key)))
        }
        for key in clones where !keys.contains(key) {
            end(
                .clone, uid: UID.text(key),
                key == uid
                    ? "no other machine has your identity any more"
                    : "\(name(of: key)) runs on one machine again")
        }
        clones = Set(keys)
    }

    /// What is going on, in words of now: names arrive later than links come up.
    func currentNotices() -> [NoticeRow] {
        for key in clones { begin(NoticeRow(kind: .clone, uid: UID.text(key), text: words(ofClone: key))) }
        return notices.rows
    }

    private func words(ofClone key: Bytes32) -> String {
        let places = links.values.filter { $0.isUp && $0.peer == key }.compactMap { link in
            link.dialled ?? link.socket.peerAddress?.with(port: link.listenPort)
        }
        let there = Set(places.map { "\($0)" }).sorted().joined(separator: " and ")
        if key == uid {
            return "another machine (\(there)) has your identity, as after copying a disk or starting a backup; "
                + "nothing is lost, but on one of the two run: starling identity new"
        }
        return "\(name(of: key)) runs on two machines with one identity (\(there)), as after copying a disk; on one "
            + "of the two run: starling identity new"
    }
}
