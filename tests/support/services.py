#!/usr/bin/env python3
"""Bug trackers and chat services as tests need them: stateful, on loopback, speaking the parts of the
public APIs that server/notify uses, strict about paths, methods, headers and members, and told by the
test when to fail.

    services.py         prints its port, serves until its standard input ends

    /gitlab/api/v4/…  /github/…  /jira/rest/api/2/…  /tapd/…      trackers
    /slack/…  /feishu/…  /dingtalk/…  /wecom/…  /hook/…           chats and webhooks
    POST /_/fault   {"match": "METHOD regex of path", "mode": …, "times": n, "status": …, "headers": {}}
    GET  /_/log     what was asked so far (without /_/)
    GET  /_/items/TRACKER   its tickets
    POST /_/edit    {"tracker", "id", "set": {…}}: what a person does; "delete": true
    POST /_/tls     the same services by https, with a certificate that nobody knows: its port and PEM
    POST /_/reset   as if it had just started
    POST /_/set     {"search_lags": bool, "users": {…}}

Modes of a fault: status (answer it, do nothing), act_status (do it, answer the status all the same),
cut (close without doing it), act_cut (do it, close without an answer), act_hang (do it, never answer),
act_hold (do it, answer
when POST /_/release says so), act_html (do it, answer HTML), act_huge (do it, answer 3 MB), redirect (to /_/stolen).
"""
import base64
import hashlib
import hmac
import json
import re
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = {
    "gitlab": "glpat-0123456789abcdef",
    "github": "ghp_0123456789abcdef",
    "jira": "jira-token-0123456789",
    "tapd": "tapd-password-0123456789",
}
PAGE_MAX = 100
lock = threading.Lock()
stop = threading.Event()
release = threading.Event()


class World:
    def __init__(self):
        self.items = {"gitlab": [], "github": [], "jira": [], "tapd": []}
        self.comments = {"gitlab": {}, "github": {}, "jira": {}, "tapd": {}}
        self.log, self.faults = [], []
        self.search_lags = False
        self.users = {"alice": 7}
        self.clock = time.time()

    def now(self):
        self.clock = max(self.clock + 0.001, time.time())
        t = self.clock
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(t)) + ".%03dZ" % int(t % 1 * 1000)


world = World()


class Fail(Exception):
    def __init__(self, status, body=None, headers=None):
        self.status, self.body, self.headers = status, body, headers or {}


def need(condition, status, body):
    if not condition:
        raise Fail(status, body)


def page(items, query):
    size = int(query.get("per_page", query.get("limit", "20")))
    need(size <= 200, 400, {"message": "per_page"})
    first = (int(query.get("page", "1")) - 1) * size
    return items[first : first + size]


def find(items, ident, key):
    for item in items:
        if str(item[key]) == ident:
            return item
    return None


def basic(headers):
    kind, _, rest = headers.get("authorization", "").partition(" ")
    if kind != "Basic":
        return None
    return base64.b64decode(rest).decode()


# GitLab ---------------------------------------------------------------------------------------------


def gitlab(method, path, query, headers, body):
    need(headers.get("private-token") == TOKEN["gitlab"], 401, {"message": "401 Unauthorized"})
    if path == "/api/v4/users":
        user = world.users.get(query["username"])
        return 200, [{"id": user, "username": query["username"]}] if user else []
    project = "/api/v4/projects/game%2Fclient"
    need(path.startswith(project), 404, {"message": "404 Project Not Found"})
    rest = path[len(project) :]
    items = world.items["gitlab"]
    if rest == "" and method == "GET":
        return 200, {"id": 1, "path_with_namespace": "game/client"}
    if rest == "/issues" and method == "GET":
        found = sorted(items, key=lambda i: i["created_at"], reverse=True)
        need(query.get("state") == "all" and query.get("scope") == "all", 400, {"error": "state"})
        if "search" in query:
            need(query.get("in") == "description", 400, {"error": "in"})
            found = [] if world.search_lags else [i for i in found if query["search"] in i["description"]]
        if "created_after" in query:
            found = [i for i in found if i["created_at"] >= query["created_after"]]
        return 200, page(found, query)
    if rest == "/issues" and method == "POST":
        need(body.get("title"), 400, {"message": {"title": ["can't be blank"]}})
        number = len(items) + 1
        items.append(
            {
                "iid": number,
                "title": body["title"],
                "description": body.get("description", ""),
                "labels": [l for l in body.get("labels", "").split(",") if l],
                "assignees": body.get("assignee_ids", []),
                "confidential": body.get("confidential", False),
                "state": "opened",
                "created_at": world.now(),
                "web_url": "https://gitlab.example.org/game/client/-/issues/%d" % number,
            }
        )
        return 201, items[-1]
    match = re.fullmatch(r"/issues/(\d+)(/notes)?", rest)
    need(match, 404, {"error": "404 Not Found"})
    issue = find(items, match[1], "iid")
    need(issue, 404, {"message": "404 Issue Not Found"})
    notes = world.comments["gitlab"].setdefault(match[1], [])
    if match[2] and method == "POST":
        notes.append({"id": len(notes) + 1, "body": body["body"], "created_at": world.now()})
        return 201, notes[-1]
    if match[2] and method == "GET":
        return 200, page(sorted(notes, key=lambda n: n["created_at"], reverse=True), query)
    if method == "GET":
        return 200, issue
    need(method == "PUT", 405, {"error": "405 Not Allowed"})
    if "state_event" in body:
        need(body["state_event"] in ("close", "reopen"), 400, {"error": "state_event"})
        issue["state"] = "opened" if body["state_event"] == "reopen" else "closed"
    for name in ("title", "description"):
        if name in body:
            issue[name] = body[name]
    if "assignee_ids" in body:
        issue["assignees"] = body["assignee_ids"]
    return 200, issue


# GitHub ---------------------------------------------------------------------------------------------


def github(method, path, query, headers, body):
    need(headers.get("authorization") == "Bearer " + TOKEN["github"], 401, {"message": "Bad credentials"})
    need(headers.get("x-github-api-version") == "2022-11-28", 400, {"message": "version"})
    need("user-agent" in headers, 403, {"message": "Request forbidden by administrative rules."})
    items = world.items["github"]
    if path == "/search/issues":
        need("repo:game/client" in query["q"] and "is:issue" in query["q"], 422, {"message": "Validation Failed"})
        words = query["q"].split(" ")
        found = [] if world.search_lags else [i for i in items if words[0] in i["body"]]
        return 200, {"total_count": len(found), "incomplete_results": False, "items": page(found, query)}
    need(path.startswith("/repos/game/client"), 404, {"message": "Not Found"})
    rest = path[len("/repos/game/client") :]
    if rest == "" and method == "GET":
        return 200, {"full_name": "game/client"}
    if rest == "/issues" and method == "GET":
        found = sorted(items, key=lambda i: i["created_at"], reverse=True)
        if query.get("state", "open") != "all":
            found = [i for i in found if i["state"] == query.get("state", "open")]
        return 200, page(found, query)
    if rest == "/issues" and method == "POST":
        need(body.get("title"), 422, {"message": "Validation Failed"})
        bad = [a for a in body.get("assignees", []) if a not in world.users]
        need(not bad, 422, {"message": "Validation Failed", "errors": [{"field": "assignees"}]})
        number = len(items) + 1
        items.append(
            {
                "number": number,
                "title": body["title"],
                "body": body.get("body") or "",
                "labels": body.get("labels", []),
                "assignees": body.get("assignees", []),
                "state": "open",
                "state_reason": None,
                "created_at": world.now(),
                "html_url": "https://github.com/game/client/issues/%d" % number,
            }
        )
        return 201, items[-1]
    match = re.fullmatch(r"/issues/(\d+)(/comments)?", rest)
    need(match, 404, {"message": "Not Found"})
    issue = find(items, match[1], "number")
    need(issue, 410, {"message": "This issue was deleted"})
    notes = world.comments["github"].setdefault(match[1], [])
    if match[2] and method == "POST":
        notes.append({"id": len(notes) + 1, "body": body["body"], "created_at": world.now()})
        return 201, notes[-1]
    if match[2] and method == "GET":
        return 200, page([n for n in notes if n["created_at"] >= query.get("since", "")], query)
    if method == "GET":
        return 200, issue
    need(method == "PATCH", 404, {"message": "Not Found"})
    need(set(body) <= {"title", "body", "state", "state_reason", "assignees", "labels"}, 422, {"message": "member"})
    issue.update(body)
    return 200, issue


# Jira -----------------------------------------------------------------------------------------------

JIRA_STATUS = {
    "To Do": {"name": "To Do", "statusCategory": {"key": "new"}},
    "In Progress": {"name": "In Progress", "statusCategory": {"key": "indeterminate"}},
    "Done": {"name": "Done", "statusCategory": {"key": "done"}},
}


def jira_view(item):
    return {
        "id": "1%s" % item["key"][5:],
        "key": item["key"],
        "fields": {"status": JIRA_STATUS[item["status"]], "description": item["description"]},
    }


def jira(method, path, query, headers, body):
    cloud = basic(headers) == "bot@example.org:" + TOKEN["jira"]
    server = headers.get("authorization") == "Bearer " + TOKEN["jira"]
    need(cloud or server, 401, {"errorMessages": ["Client must be authenticated"]})
    need(path.startswith("/rest/api/2/"), 404, {})
    rest = path[len("/rest/api/2/") :]
    items = world.items["jira"]
    if rest == "project/GAME":
        return 200, {"key": "GAME"}
    if rest in ("search", "search/jql"):
        need((rest == "search/jql") == cloud, 410 if cloud else 404, {"errorMessages": ["The requested API has been removed."]})
        match = re.fullmatch(r'project = "GAME" AND labels = "([a-z0-9-]+)"', query["jql"])
        need(match, 400, {"errorMessages": ["Error in the JQL Query"]})
        found = [] if world.search_lags else [i for i in items if match[1] in i["labels"]]
        return 200, {"issues": [jira_view(i) for i in found[: int(query.get("maxResults", "50"))]]}
    if rest == "issue" and method == "POST":
        f = body["fields"]
        need(f["project"] == {"key": "GAME"} and f["issuetype"] == {"name": "Bug"}, 400, {"errors": {"project": "valid project is required"}})
        need(all(" " not in l for l in f["labels"]), 400, {"errors": {"labels": "The label contains spaces which is invalid."}})
        assignee = f.get("assignee", {})
        need(not assignee or list(assignee) == ["accountId" if cloud else "name"], 400, {"errors": {"assignee": "expected another"}})
        number = len(items) + 1
        items.append(
            {
                "key": "GAME-%d" % number,
                "summary": f["summary"],
                "description": f["description"],
                "labels": f["labels"],
                "assignee": assignee,
                "status": "To Do",
                "created_at": world.now(),
            }
        )
        return 201, {"id": "1%d" % number, "key": items[-1]["key"], "self": "https://jira/rest/api/2/issue/1%d" % number}
    match = re.fullmatch(r"issue/(GAME-\d+)(/comment|/transitions)?", rest)
    need(match, 404, {"errorMessages": ["Issue does not exist or you do not have permission to see it."]})
    issue = find(items, match[1], "key")
    need(issue, 404, {"errorMessages": ["Issue does not exist or you do not have permission to see it."]})
    notes = world.comments["jira"].setdefault(match[1], [])
    if match[2] == "/comment" and method == "POST":
        notes.append({"id": str(len(notes) + 1), "body": body["body"], "created": world.now()})
        return 201, notes[-1]
    if match[2] == "/comment":
        return 200, {"comments": list(reversed(notes))[: int(query.get("maxResults", "50"))]}
    if match[2] == "/transitions" and method == "GET":
        names = ["In Progress", "To Do"] if issue["status"] == "Done" else ["Done"]
        return 200, {"transitions": [{"id": str(list(JIRA_STATUS).index(n)), "name": "To " + n, "to": JIRA_STATUS[n]} for n in names]}
    if match[2] == "/transitions":
        issue["status"] = list(JIRA_STATUS)[int(body["transition"]["id"])]
        return 204, None
    if method == "GET":
        return 200, jira_view(issue)
    need(method == "PUT", 405, {})
    issue.update(body["fields"])
    return 204, None


# TAPD -----------------------------------------------------------------------------------------------


def tapd(method, path, query, headers, body):
    need(basic(headers) == "api-user:" + TOKEN["tapd"], 401, {"status": 401, "info": "Unauthorized"})
    items = world.items["tapd"]
    form = body if method == "POST" else query
    need(form.get("workspace_id") == "60498179", 200, {"status": 422, "data": "", "info": "workspace_id is required"})

    def answer(data):
        return 200, {"status": 1, "data": data, "info": "success"}

    if path == "/bugs/count":
        return answer({"count": len(items)})
    if path == "/bugs" and method == "GET":
        found = list(reversed(items))
        if "id" in query:
            found = [i for i in found if i["id"] == query["id"]]
        if "title" in query:
            found = [] if world.search_lags else [i for i in found if query["title"] in i["title"]]
        return answer([{"Bug": i} for i in page(found, query)])
    if path == "/bugs" and "id" in form:
        bug = find(items, form["id"], "id")
        need(bug, 200, {"status": 404, "data": "", "info": "bug not found"})
        bug.update({k: v for k, v in form.items() if k != "workspace_id"})
        return answer({"Bug": bug})
    if path == "/bugs":
        need(form.get("title"), 200, {"status": 422, "data": "", "info": "title is required"})
        items.append(dict(form, id="11604981790010%05d" % (len(items) + 1), status="new", created=world.now()))
        return answer({"Bug": items[-1]})
    need(path == "/comments" and form.get("entry_type") == "bug", 404, {"status": 404, "info": "Not Found"})
    notes = world.comments["tapd"].setdefault(form["entry_id"], [])
    if method == "POST":
        need(form.get("author") and form.get("description"), 200, {"status": 422, "data": "", "info": "author is required"})
        notes.append({"id": str(len(notes) + 1), "description": form["description"], "author": form["author"]})
        return answer({"Comment": notes[-1]})
    return answer([{"Comment": n} for n in page(list(reversed(notes)), query)])


# Chats ----------------------------------------------------------------------------------------------


def slack(method, path, query, headers, body):
    need(path == "/services/T000/B000/slackslackslackslack", 404, "no_service")
    need(headers["content-type"].startswith("application/json"), 400, "invalid_payload")
    need(isinstance(body.get("text"), str) and body["blocks"][0]["type"] == "header", 400, "invalid_blocks")
    need(len(body["blocks"][0]["text"]["text"]) <= 150, 400, "invalid_blocks")
    need(all(len(f["text"]) <= 2000 for f in body["blocks"][1]["fields"]), 400, "invalid_blocks")
    return 200, "ok"


def feishu(method, path, query, headers, body):
    need(path == "/open-apis/bot/v2/hook/feishufeishufeishu", 200, {"code": 19001, "msg": "param invalid: incoming webhook access token invalid"})
    key = "%s\n%s" % (body.get("timestamp"), "SECfeishu")
    sign = base64.b64encode(hmac.new(key.encode(), b"", hashlib.sha256).digest()).decode()
    need(body.get("sign") == sign, 200, {"code": 19021, "msg": "sign match fail or timestamp is not within one hour from current time"})
    need(body["msg_type"] == "interactive" and "header" in body["card"], 200, {"code": 9499, "msg": "Bad Request"})
    return 200, {"code": 0, "msg": "success", "data": {}}


def dingtalk(method, path, query, headers, body):
    need(path == "/robot/send" and query.get("access_token") == "dingdingdingding", 200, {"errcode": 300005, "errmsg": "token is not exist"})
    text = "%s\n%s" % (query.get("timestamp"), "SECdingtalk")
    sign = base64.b64encode(hmac.new(b"SECdingtalk", text.encode(), hashlib.sha256).digest()).decode()
    need(query.get("sign") == sign, 200, {"errcode": 310000, "errmsg": "sign not match"})
    need(body["msgtype"] == "markdown" and body["markdown"]["title"], 200, {"errcode": 40035, "errmsg": "param error"})
    return 200, {"errcode": 0, "errmsg": "ok"}


def wecom(method, path, query, headers, body):
    need(path == "/cgi-bin/webhook/send" and query.get("key") == "wecomwecomwecom", 200, {"errcode": 93000, "errmsg": "invalid webhook url"})
    need(body["msgtype"] == "markdown", 200, {"errcode": 40008, "errmsg": "invalid message type"})
    need(len(body["markdown"]["content"].encode()) <= 4096, 200, {"errcode": 40058, "errmsg": "markdown.content exceed max length 4096"})
    return 200, {"errcode": 0, "errmsg": "ok"}


def hook(method, path, query, headers, body, raw=""):
    """Checks the signature as https://www.standardwebhooks.com says a receiver should."""
    signed = "%s.%s.%s" % (headers["webhook-id"], headers["webhook-timestamp"], raw)
    sign = base64.b64encode(hmac.new(base64.b64decode("d2ViaG9vay1rZXktd2ViaG9vay1rZXk="), signed.encode(), hashlib.sha256).digest())
    need(headers["webhook-signature"] == "v1," + sign.decode(), 401, {"error": "bad signature"})
    return 200, {"id": "EXT-1", "url": "https://tickets.example.org/EXT-1", "state": "open"}


SERVICES = dict(gitlab=gitlab, github=github, jira=jira, tapd=tapd, slack=slack, feishu=feishu, dingtalk=dingtalk, wecom=wecom, hook=hook)


def control(method, path, body):
    if path == "/_/log":
        return 200, world.log
    if path.startswith("/_/items/"):
        name = path.split("/")[3]
        return 200, {"items": world.items[name], "comments": world.comments[name]}
    if path == "/_/fault":
        world.faults.append(dict(body, times=body.get("times", 1)))
        return 200, {}
    if path == "/_/heal":
        world.faults.clear()
        return 200, {}
    if path == "/_/tls":
        return 200, start_tls()
    if path == "/_/reset":
        world.__init__()
        release.clear()
        return 200, {}
    if path == "/_/release":
        release.set()
        return 200, {}
    if path == "/_/set":
        for name, value in body.items():
            setattr(world, name, value)
        return 200, {}
    if path == "/_/edit":
        items = world.items[body["tracker"]]
        key = {"gitlab": "iid", "github": "number", "jira": "key", "tapd": "id"}[body["tracker"]]
        item = find(items, body["id"], key)
        if body.get("delete"):
            items.remove(item)
        else:
            item.update(body["set"])
        return 200, {}
    return 404, {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, body, headers=None):
        data = b"" if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Type", "text/plain" if isinstance(body, str) else "application/json")
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if status != 204:
            self.wfile.write(data)

    def close_now(self):
        self.close_connection = True
        self.connection.close()

    def fault_of(self, line):
        for fault in world.faults:
            if fault["times"] > 0 and re.search(fault["match"], line):
                fault["times"] -= 1
                return fault
        return {"mode": ""}

    def run(self, method):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        headers = {k.lower(): v for k, v in self.headers.items()}
        form = headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
        body = dict(urllib.parse.parse_qsl(raw.decode())) if form else json.loads(raw) if raw else None
        service = url.path.split("/")[1]
        with lock:
            if service == "_":
                self.answer(*control(method, url.path, body))
                return
            entry = {"method": method, "path": url.path, "query": query, "headers": headers, "body": body, "raw": raw.decode()}
            world.log.append(entry)
            fault = self.fault_of("%s %s" % (method, url.path))
            mode = fault["mode"]
            entry["fault"] = mode
            if mode == "cut":
                self.close_now()
                return
            if mode == "redirect":
                entry["status"] = 307
                self.answer(307, {}, {"Location": "/_/stolen"})
                return
            if mode == "status":
                entry["status"] = fault["status"]
                self.answer(fault["status"], fault.get("body", {}), fault.get("headers"))
                return
            try:
                args = (method, url.path[len(service) + 1 :], query, headers, body)
                if service == "hook":
                    args += (raw.decode(),)
                status, out, more = *SERVICES[service](*args), {}
            except Fail as f:
                status, out, more = f.status, f.body, f.headers
            entry["status"] = status
            entry["done"] = True
        if mode == "act_cut":
            self.close_now()
        elif mode == "act_hang":
            stop.wait()
        elif mode == "act_hold":
            release.wait()
            self.answer(status, out, more)
        elif mode == "act_html":
            self.answer(status, "<html>a proxy's page</html>")
        elif mode == "act_huge":
            self.answer(status, "x" * 3000000)
        elif mode == "act_status":
            self.answer(fault["status"], {}, fault.get("headers"))
        else:
            self.answer(status, out, more)

    def safely(self, method):
        try:
            self.run(method)
        except (BrokenPipeError, ConnectionResetError, ValueError, OSError):
            self.close_connection = True

    def do_GET(self):
        self.safely("GET")

    def do_POST(self):
        self.safely("POST")

    def do_PUT(self):
        self.safely("PUT")

    def do_PATCH(self):
        self.safely("PATCH")

    def do_DELETE(self):
        self.safely("DELETE")


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        pass


def start_tls():
    with tempfile.TemporaryDirectory() as folder:
        key, cert = folder + "/key.pem", folder + "/cert.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-keyout", key, "-out", cert, "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"],
            check=True, capture_output=True,
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        with open(cert) as f:
            pem = f.read()
    server = Server(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return {"port": server.server_address[1], "pem": pem}


if __name__ == "__main__":
    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    stop.set()
