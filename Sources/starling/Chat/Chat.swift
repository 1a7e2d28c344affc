enum Chat {
    static func run(_ session: Session) throws {}
}
