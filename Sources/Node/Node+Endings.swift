internal import Net

/// Clients that have ended their sending side, as `echo … | socat -` does: they still wait for what they have asked.
extension Node {
    /// So long such a client's connection is kept for answers that come late: a comparison with all peers takes
    /// longest.
    private static let lateAnswerMs = Node.verifyMs + 5_000

    /// Nothing more comes from a client. When all is answered its connection is closed.
    func sendingEnded(_ id: Int) {
        guard let session = sessions[id] else { return }
        session.hasEnded = true
        closeAnswered()
        guard sessions[id] != nil, awaitsAnswer(session) else { return }
        session.endTimer = loop.schedule(afterMs: Node.lateAnswerMs) { [weak self] in
            self?.assumeIsolated { $0.sessions[id]?.socket.closeAfterFlush() }
        }
    }

    /// Closes the connections of those who have ended their sending side and wait for nothing any more. Subscriptions
    /// do not count: they would never end.
    func closeAnswered() {
        for session in sessions.values where session.hasEnded && !awaitsAnswer(session) {
            session.flush()
            session.socket.closeAfterFlush()
        }
    }

    /// Whether something that a client has asked is answered later than at once.
    private func awaitsAnswer(_ session: ControlSession) -> Bool {
        let id = session.id
        return session.batch != nil || reads.contains { $0.session == id } || searches.contains { $0.session == id }
            || statusWaits.contains { $0.session == id }
            || verification?.waiting.contains { $0.session == id } ?? false
    }
}
