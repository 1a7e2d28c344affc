import Foundation
import Testing
import TreeModel

/// One scripted case of the Firebase SDK's tests.
struct OracleCase: Decodable, Sendable, CustomTestStringConvertible {
    struct Step: Decodable, Sendable {
        let type: String
        let path: String?
        let params: Params?
        let data: OracleJSON?
        let writeId: Int?
        let revert: Bool?
        let visible: Bool?
        let callbackId: Int?
        let events: [Event]
    }

    struct Params: Decodable, Sendable {
        struct Bound: Decodable, Sendable {
            let index: OracleJSON?
            let name: String?
        }

        let tag: Int?
        let orderBy: String?
        let orderByKey: Bool?
        let limitToFirst: Int?
        let limitToLast: Int?
        let startAt: Bound?
        let startAfter: Bound?
        let endAt: Bound?
        let endBefore: Bound?
        let equalTo: Bound?
    }

    struct Event: Decodable, Sendable {
        let path: String
        let type: String
        let name: String?
        let prevName: String?
        let data: OracleJSON?
    }

    let name: String
    let steps: [Step]

    var testDescription: String { name }
}

extension OracleCase {
    static func load() throws -> [OracleCase] {
        guard let url = Bundle.module.url(forResource: "Cases/syncPointSpec", withExtension: "json") else {
            throw CocoaError(.fileNoSuchFile)
        }
        return try JSONDecoder().decode([OracleCase].self, from: Data(contentsOf: url))
    }
}

extension NaiveQuery {
    init(_ params: OracleCase.Params?) {
        self.init()
        guard let params else { return }
        func bound(_ bound: OracleCase.Params.Bound?, _ isInclusive: Bool) -> Bound? {
            bound.map { Bound(value: $0.index ?? .null, key: $0.name, isInclusive: isInclusive) }
        }
        if params.orderByKey == true { order = .key }
        if let path = params.orderBy { order = .child(path.split(separator: "/").map(String.init)) }
        start = bound(params.startAt, true) ?? bound(params.startAfter, false) ?? bound(params.equalTo, true)
        end = bound(params.endAt, true) ?? bound(params.endBefore, false) ?? bound(params.equalTo, true)
        first = params.limitToFirst
        last = params.limitToLast
    }
}
