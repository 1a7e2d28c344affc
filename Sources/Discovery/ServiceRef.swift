internal import CDNSSD
internal import Glibc

/// One DNSServiceRef with the inbox that its callbacks write to. To be used on one thread only.
///
/// Callbacks run inside `process()`, or already inside the call that opens the reference; they only collect, so nothing
/// is opened or freed while the library is on the stack. The inbox outlives the reference, so a callback never finds it
/// gone.
@safe final class ServiceRef {
    private let ref: DNSServiceRef
    private let inbox: Inbox
    /// The descriptor that becomes readable when `process()` has something to do.
    let descriptor: Int32

    /// What the callbacks have said and nobody has taken yet.
    final class Inbox {
        fileprivate var replies: [DiscoveryMachine.Reply] = []
    }

    /// Opens a reference; nil when the responder refuses or is not there. Can block for as long as D-Bus waits for an
    /// answer, which is 25 s.
    init?(_ request: DiscoveryMachine.Request, serviceType: String) {
        let inbox = Inbox()
        let context = unsafe Unmanaged.passUnretained(inbox).toOpaque()
        var ref: DNSServiceRef?
        let error =
            switch request {
            case .register(let name, let port, let txt):
                // Domain and host NULL: whatever the responder has.
                unsafe DNSServiceRegister(
                    &ref, 0, 0, Self.cString(name), serviceType, nil, nil, port.bigEndian, UInt16(clamping: txt.count),
                    txt, onRegister, context)
            case .browse:
                unsafe DNSServiceBrowse(&ref, 0, 0, serviceType, nil, onBrowse, context)
            case .resolve(let key):
                unsafe DNSServiceResolve(
                    &ref, 0, key.interfaceIndex, Self.cString(key.name), Self.cString(key.type),
                    Self.cString(key.domain), onResolve, context)
            case .query(let host, let interfaceIndex, let family):
                unsafe DNSServiceQueryRecord(
                    &ref, 0, interfaceIndex, Self.cString(host), family.recordType, UInt16(kDNSServiceClass_IN),
                    onQuery, context)
            }
        guard error == kDNSServiceErr_NoError, let ref = unsafe ref else {
            return nil
        }
        unsafe self.ref = unsafe ref
        self.inbox = inbox
        descriptor = unsafe DNSServiceRefSockFD(ref)
    }

    /// Frees the reference, which takes back what it announced. Can block.
    deinit {
        unsafe DNSServiceRefDeallocate(ref)
        // The callbacks' context must live until here.
        withExtendedLifetime(inbox) {}
    }

    /// Reads what the responder has sent; only when the descriptor is readable, otherwise it blocks.
    func process() {
        if unsafe DNSServiceProcessResult(ref) != kDNSServiceErr_NoError {
            inbox.replies.append(.broken)
        }
    }

    /// Gives the registration another TXT record; false when the responder refuses. Can block.
    func update(txt: [UInt8]) -> Bool {
        unsafe DNSServiceUpdateRecord(ref, nil, 0, UInt16(clamping: txt.count), txt, 0) == kDNSServiceErr_NoError
    }

    /// The replies since the last call.
    func takeReplies() -> [DiscoveryMachine.Reply] {
        defer { inbox.replies = [] }
        return inbox.replies
    }

    private static func cString(_ bytes: [UInt8]) -> [CChar] {
        bytes.map { CChar(bitPattern: $0) } + [0]
    }
}

extension ServiceRef {
    /// To be called before anything else of the library and before the first thread.
    static func prepareProcess() {
        _ = prepared
    }

    private static let prepared: Void = {
        // Otherwise the library asks on standard error that the program be rewritten.
        unsafe setenv("AVAHI_COMPAT_NOWARN", "1", 1)
        // avahi 0.8 leaves some callback pointers of a reference uninitialised and calls them when its daemon restarts.
        // Memory that is zero makes it skip them. The structure is not copied, so it is never freed.
        let allocator = UnsafeMutablePointer<AvahiAllocator>.allocate(capacity: 1)
        unsafe allocator.initialize(
            to: AvahiAllocator(
                malloc: { unsafe Glibc.calloc(1, $0) },
                free: { unsafe Glibc.free($0) },
                realloc: { unsafe Glibc.realloc($0, $1) },
                calloc: { unsafe Glibc.calloc($0, $1) }))
        unsafe avahi_set_allocator(allocator)
    }()
}

private func deliver(_ context: UnsafeMutableRawPointer?, _ reply: DiscoveryMachine.Reply) {
    if let context = unsafe context {
        unsafe Unmanaged<ServiceRef.Inbox>.fromOpaque(context).takeUnretainedValue().replies.append(reply)
    }
}

private func bytes(_ string: UnsafePointer<CChar>) -> [UInt8] {
    unsafe UnsafeRawBufferPointer(start: string, count: strlen(string)).map { $0 }
}

private let onRegister: DNSServiceRegisterReply = { _, _, error, name, _, _, context in
    guard error == kDNSServiceErr_NoError, let name = unsafe name else {
        return unsafe deliver(context, .broken)
    }
    unsafe deliver(context, .registered(name: bytes(name)))
}

private let onBrowse: DNSServiceBrowseReply = { _, flags, interfaceIndex, error, name, type, domain, context in
    guard error == kDNSServiceErr_NoError, let name = unsafe name, let type = unsafe type, let domain = unsafe domain
    else {
        return unsafe deliver(context, .broken)
    }
    let key = unsafe ServiceKey(
        interfaceIndex: interfaceIndex, name: bytes(name), type: bytes(type), domain: bytes(domain))
    let isAdded = flags & UInt32(kDNSServiceFlagsAdd) != 0
    unsafe deliver(context, .browsed(isAdded: isAdded, key))
}

private let onResolve: DNSServiceResolveReply = { _, _, _, error, _, host, port, txtCount, txt, context in
    guard error == kDNSServiceErr_NoError, let host = unsafe host else {
        return unsafe deliver(context, .broken)
    }
    let record = unsafe UnsafeBufferPointer(start: txt, count: txt == nil ? 0 : Int(txtCount)).map { $0 }
    unsafe deliver(context, .resolved(host: bytes(host), port: UInt16(bigEndian: port), txt: record))
}

private let onQuery: DNSServiceQueryRecordReply = { _, flags, _, error, _, _, _, count, data, _, context in
    guard error == kDNSServiceErr_NoError else {
        return unsafe deliver(context, .broken)
    }
    // What is taken back here was only ever a suggestion.
    if flags & UInt32(kDNSServiceFlagsAdd) != 0, let data = unsafe data {
        unsafe deliver(context, .address(UnsafeRawBufferPointer(start: data, count: Int(count)).map { $0 }))
    }
}
