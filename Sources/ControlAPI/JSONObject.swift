/// The members of a JSON object in their order.
///
/// Looking up is linear: the objects of this API are short, and long ones (snapshots of the tree) are walked.
public struct JSONObject: Sendable, Equatable {
    /// A name and its value.
    public struct Member: Sendable {
        public var key: String
        public var value: JSON

        public init(key: String, value: JSON) {
            self.key = key
            self.value = value
        }
    }

    /// The members in order. Names are unique; whoever appends to the array directly keeps them so.
    public var members: [Member]

    public init() {
        members = []
    }

    /// An object of these members, whose names must differ: nothing checks.
    public init(members: [Member]) {
        self.members = members
    }

    public var isEmpty: Bool { members.isEmpty }
    public var count: Int { members.count }

    /// The value of a member. Setting replaces it where it stands, or appends; setting nil removes.
    public subscript(key: String) -> JSON? {
        get {
            for member in members where sameBytes(member.key, key) { return member.value }
            return nil
        }
        set {
            let index = members.firstIndex { sameBytes($0.key, key) }
            switch (index, newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append(Member(key: key, value: value))
            case (nil, nil): break
            }
        }
    }

    /// Appends a member without looking whether the name is taken: for builders that know it is not.
    public mutating func append(_ key: String, _ value: JSON) {
        members.append(Member(key: key, value: value))
    }

    /// Appends a member if there is a value: for optional fields, which are left out rather than `null`.
    public mutating func append(_ key: String, ifPresent value: JSON?) {
        if let value { append(key, value) }
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// Members in the order written; of two of one name the later stays.
    public init(dictionaryLiteral elements: (String, JSON)...) {
        self.init()
        for (key, value) in elements { self[key] = value }
    }
}

extension JSONObject.Member: Equatable {
    public static func == (left: Self, right: Self) -> Bool {
        sameBytes(left.key, right.key) && left.value == right.value
    }
}
