internal import ControlAPI
internal import Net
internal import Seal
internal import Store
internal import Tree

/// Becoming somebody else on this machine: what a copied disk needs, and whoever has lost a key.
extension Node {
    /// The name that an identity takes over from the one before it: `{uid} {name}`.
    private static let inheritanceSetting = "inheritance"

    /// Makes a new identity and starts the node anew with it. The old key stays beside it, for reading.
    ///
    /// Until the new key has taken the old one's place nothing has changed, whenever the process dies.
    ///
    /// - Throws: `not_found` if the caller means another identity than this one, so that a repeated request makes no
    ///   second one; `disk_full`; `permission_denied` if somebody has replaced the key's file.
    func identityNew(_ params: Fields) throws -> JSON {
        let own = UID.text(uid)
        guard try params.string("uid") == own, !isRetired, !isStopping else {
            throw RPCError(reason: .notFound, message: "that is not who you are; nothing was changed")
        }
        let name = try displayName(of: uid)
        let new = SigningKey()
        let oldPath = options.home.retiredIdentityPath(own)
        do throws(NodeError) {
            guard try IdentityFile.load(options.home.identityPath)?.publicKey == uid else {
                throw NodeError(.unsafeFile, "\(options.home.identityPath) holds another key than this daemon uses")
            }
            try IdentityFile.write(key, to: oldPath)
            try inherit(name, by: new.publicKey)
            try IdentityFile.write(new, to: options.home.identityPath)
        } catch {
            throw Node.refusal(error)
        }
        log.warning("identity \(own) gives way to \(UID.text(new.publicKey)); its key is kept in \(oldPath)")
        isRetired = true
        // The answer is sent first.
        loop.execute { self.assumeIsolated { $0.onRestartRequest?() } }
        return [
            "uid": .string(UID.text(new.publicKey)), "name": .string(name), "previous": .string(own),
            "previousKey": .string(oldPath),
        ]
    }

    private static func refusal(_ error: NodeError) -> RPCError {
        let message = "\(error); your identity is the same as before"
        switch error.code {
        case .diskFull: return RPCError(reason: .diskFull, message: message)
        case .unsafeFile: return RPCError(reason: .permissionDenied, message: message)
        default: return RPCError(code: .internalError, reason: .internalError, message: message)
        }
    }

    private func inherit(_ name: String, by heir: Bytes32) throws(NodeError) {
        do {
            try Node.inherit(name, by: heir, in: store)
        } catch {
            noticeDamage(error)
            let isFull = (error as? StoreError)?.isDiskFull ?? false
            throw NodeError(isFull ? .diskFull : .fileSystem, "cannot write the database: \(error)")
        }
    }

    /// Leaves a name to whoever uses the database next, if it is the heir.
    static func inherit(_ name: String, by heir: Bytes32, in store: DatabaseStore) throws {
        try store.setSetting(inheritanceSetting, Array("\(UID.text(heir)) \(name)".utf8))
    }

    /// The name that the identity before this one has left to it; nil if there is none.
    func inheritedName() throws -> String? {
        guard let bytes = try store.setting(Node.inheritanceSetting) else { return nil }
        // As bytes: a blank and an accent after it are one character.
        let parts = bytes.split(separator: UInt8(ascii: " "), maxSplits: 1)
        guard parts.count == 2, parts[0].elementsEqual(UID.text(uid).utf8) else { return nil }
        return String(decoding: parts[1], as: UTF8.self)
    }

    /// Takes the name this node is to have. On a full disk it is taken as soon as there is room.
    func takeNameSoon() throws {
        do {
            try takeName()
            isNameDue = false
            if try store.setting(Node.inheritanceSetting) != nil { try store.setSetting(Node.inheritanceSetting, nil) }
        } catch let error where Node.rpcError(error).reason == .diskFull {
            isNameDue = true
            log.error("the disk is full: your name is told to the others when there is room")
        }
    }
}
