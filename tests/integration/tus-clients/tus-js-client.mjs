// tus-js-client against a running server: node tus-js-client.mjs URL KEY_FILE
// Prints a line "upload-id sha256-of-the-file" for each upload that ended; exit code 1 if one did not.
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import net from 'node:net'
import * as tus from 'tus-js-client'

const [base, keyFile] = process.argv.slice(2)
const key = readFileSync(keyFile, 'utf8').trim()
const headers = { Authorization: `Bearer ${key}` }
const endpoint = (url) => `${url}/v1/uploads`

function check(ok, what) {
  if (!ok) throw new Error(what)
}

// Runs an upload to its end; `options.stopAt` aborts it once so many bytes were sent.
function run(file, options) {
  return new Promise((resolve, reject) => {
    const { stopAt, ...rest } = options
    const upload = new tus.Upload(file, {
      headers,
      retryDelays: null,
      ...rest,
      onProgress(sent) {
        if (stopAt !== undefined && sent >= stopAt) {
          upload.abort().then(() => resolve(upload), reject)
        }
      },
      onSuccess: () => resolve(upload),
      onError: reject,
    })
    upload.start()
  })
}

const idOf = (upload) => upload.url.split('/').pop()
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex')

async function offsetOf(url) {
  const answer = await fetch(url, { method: 'HEAD', headers: { ...headers, 'Tus-Resumable': '1.0.0' } })
  return answer.status === 200 ? Number(answer.headers.get('upload-offset')) : -answer.status
}

async function ended(name, upload, file) {
  check((await offsetOf(upload.url)) === file.length, `${name}: not all bytes arrived`)
  console.log(`${idOf(upload)} ${sha256(file)}`)
}

// Passes connections on and cuts each one after some bytes of the request, as mobile networks do.
function brokenNetwork(target, cuts) {
  const to = new URL(target)
  const server = net.createServer((near) => {
    const far = net.connect(Number(to.port), to.hostname)
    let left = cuts.length ? cuts.shift() : Infinity
    const end = () => {
      near.destroy()
      far.destroy()
    }
    near.on('data', (bytes) => {
      far.write(bytes.subarray(0, left))
      left -= bytes.length
      if (left <= 0) end()
    })
    far.on('data', (bytes) => near.write(bytes))
    for (const side of [near, far]) side.on('error', end).on('close', end)
  })
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)))
}

const tests = {
  async 'in chunks'() {
    const file = randomBytes(700_001)
    const upload = await run(file, { endpoint: endpoint(base), chunkSize: 256 * 1024, metadata: { filename: 'a b.fw' } })
    await ended('in chunks', upload, file)
  },

  async 'with its data during creation'() {
    const file = randomBytes(50_000)
    const upload = await run(file, { endpoint: endpoint(base), uploadDataDuringCreation: true })
    await ended('during creation', upload, file)
  },

  async 'of no bytes'() {
    const file = Buffer.alloc(0)
    await ended('no bytes', await run(file, { endpoint: endpoint(base) }), file)
  },

  async 'with POST in place of PATCH'() {
    const file = randomBytes(100_000)
    const upload = await run(file, { endpoint: endpoint(base), overridePatchMethod: true })
    await ended('override', upload, file)
  },

  async 'whose length is told last'() {
    const file = randomBytes(300_000)
    const upload = await run(file, { endpoint: endpoint(base), uploadLengthDeferred: true, chunkSize: 64 * 1024 })
    await ended('deferred length', upload, file)
  },

  async 'aborted and taken up again, several times'() {
    const file = randomBytes(2_000_000)
    const chunkSize = 150_000
    let upload = await run(file, { endpoint: endpoint(base), chunkSize, stopAt: 300_000 })
    for (const stopAt of [600_000, 1_100_000, 1_900_000]) {
      upload = await run(file, { uploadUrl: upload.url, endpoint: endpoint(base), chunkSize, stopAt })
    }
    await ended('resumed', await run(file, { uploadUrl: upload.url, endpoint: endpoint(base) }), file)
  },

  async 'begun again with the same file id'() {
    const file = randomBytes(400_000)
    const metadata = { fileid: randomBytes(16).toString('hex'), kind: 'session', install: 'phone' }
    const first = await run(file, { endpoint: endpoint(base), metadata, chunkSize: 50_000, stopAt: 150_000 })
    // it takes a new upload to be empty, is told the true offset with 409, and asks
    const second = await run(file, { endpoint: endpoint(base), metadata, chunkSize: 100_000, retryDelays: [0, 0] })
    check(idOf(first) === idOf(second), 'the same file has two uploads')
    await ended('same file id', second, file)
  },

  async 'over a network that breaks'() {
    const file = randomBytes(1_500_000)
    const cuts = [200, 90_000, 1_000, 300_000, 70_000, 500_000, 400, 250_000, 60_000]
    const network = await brokenNetwork(base, cuts)
    const url = `http://127.0.0.1:${network.address().port}`
    const metadata = { fileid: randomBytes(16).toString('hex') }
    const upload = await run(file, {
      endpoint: endpoint(url),
      metadata,
      retryDelays: Array(30).fill(10),
      onShouldRetry: () => true,
    })
    check(cuts.length === 0, 'the network was not broken as often as it should')
    await ended('broken network', upload, file)
    network.close()
  },

  async 'in parallel parts'() {
    const file = randomBytes(900_000)
    const upload = await run(file, { endpoint: endpoint(base), parallelUploads: 3 })
    await ended('parallel', upload, file)
  },

  async 'terminated'() {
    const file = randomBytes(500_000)
    const upload = await run(file, { endpoint: endpoint(base), chunkSize: 50_000, stopAt: 100_000 })
    await upload.abort(true)
    check((await offsetOf(upload.url)) === -410, 'a terminated upload is still there')
  },
}

for (const [name, test] of Object.entries(tests)) {
  try {
    await test()
    console.error(`ok    an upload ${name}`)
  } catch (error) {
    console.error(`FAIL  an upload ${name}: ${error.stack}`)
    process.exitCode = 1
  }
}
process.exit()
