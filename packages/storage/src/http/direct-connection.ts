/**
 * A connection whose socket reads a body straight into the reader's buffers. Measured: a download of two gigabytes
 * takes 1.8 seconds of CPU time; undici, which allocates a buffer for every 64 KiB and copies it for its parser, takes
 * 5 seconds. For small objects, the CPU time is a fifth less than with undici.
 */
import net, { type Socket } from "node:net";
import { connect as secureConnect } from "node:tls";
import { joinChunks } from "./chunks.ts";
import { type AnswerHead, parseHead } from "./head.ts";
import type { HttpSettings } from "./messages.ts";

/** Size in bytes of the buffer for bytes that arrive before a reader supplies its own buffer. */
const scratchSize = 16 * 1024;

const longestHead = 32 * 1024;

/** Maximum size in bytes of a chunked body that this class reads; undici reads longer ones. */
const longestText = 256 * 1024;

const blankLine = Buffer.from("\r\n\r\n");

const nothing = Buffer.alloc(0);

/** Milliseconds of silence before TCP keep-alive probes, as in undici. */
const probesAfter = 60_000;

function hasHead(bytes: Buffer): boolean {
  const isThere = bytes.includes(blankLine);
  if (!isThere && bytes.length > longestHead)
    throw new Error(`the headers of the answer exceed the limit of ${longestHead} bytes`);
  return isThere;
}

interface Text {
  bytes: Buffer;
  readonly isEnough: (bytes: Buffer) => boolean;
  /**
   * Whether `isEnough` has accepted the bytes. Never becomes false again, although over TLS, bytes that the socket had
   * already read may still be appended.
   */
  isWhole: boolean;
}

/** The head of an answer with a known body length. */
export type DirectHead = AnswerHead & { readonly length: number };

export class DirectConnection {
  readonly #socket: Socket;
  /** Timeout in milliseconds. */
  readonly #timeout: number;
  readonly #scratch = Buffer.allocUnsafeSlow(scratchSize);
  /** The head or chunked body that is being read; reading stops as soon as enough bytes have arrived. */
  #text: Text | undefined;
  /** Body bytes that arrived before a reader asked for them. */
  #early: Buffer = nothing;
  /** Number of body bytes that have not arrived yet. */
  #left = 0;
  #target: { readonly buffer: Uint8Array; filled: number } | undefined;
  #isConnected = false;
  /** Deadline of the current wait, in milliseconds of `performance.now()`. */
  #deadline = Number.POSITIVE_INFINITY;
  #isResting = false;
  #failure: { readonly error: Error } | undefined;
  #wake: (() => void) | undefined;

  /** `onClose` is called when the connection is unusable. */
  constructor(origin: URL, settings: HttpSettings, onClose: () => void) {
    this.#timeout = settings.readTimeout * 1000 || Number.POSITIVE_INFINITY;
    this.#socket = connect(origin, settings, {
      buffer: () => this.#nextBuffer(),
      callback: (length, buffer) => this.#receive(length, buffer),
    });
    this.#socket.setNoDelay(true);
    this.#socket.once(origin.protocol === "https:" ? "secureConnect" : "connect", () => {
      this.#isConnected = true;
      this.#wake?.();
    });
    this.#socket.on("error", (error) => this.#fail(error));
    this.#socket.on("close", () => {
      this.#fail(new Error("the connection was closed"));
      onClose();
    });
  }

  /** Sends a request head and waits for the answer's head. Returns undefined if this class cannot read the answer. */
  async ask(head: string): Promise<DirectHead | undefined> {
    this.#socket.ref();
    this.#isResting = false;
    if (!this.#isConnected) await this.#until(() => this.#isConnected, Number.POSITIVE_INFINITY);
    this.#socket.write(head, "latin1");
    const text = await this.#readText(nothing, hasHead);
    const end = text.indexOf(blankLine);
    const answer = parseHead(text.toString("latin1", 0, end));
    const rest = text.subarray(end + blankLine.length);
    const early = answer && answer.length === undefined ? await this.#readChunks(rest) : rest;
    if (!answer || early === undefined) return undefined;
    this.#early = early;
    const { status, headers, keptAlive, length = early.length } = answer;
    this.#left = length - early.length;
    // A negative number means that more bytes arrived than the body has; their meaning is unknown.
    return this.#left < 0 ? undefined : { status, headers, keptAlive, length };
  }

  /** Reads a chunked answer, usually an error. Returns undefined if the answer is longer than `longestText`. */
  async #readChunks(begun: Buffer): Promise<Buffer | undefined> {
    const joined = (bytes: Buffer) => joinChunks(bytes.toString("latin1"));
    const bytes = await this.#readText(begun, (all) => all.length > longestText || joined(all) !== undefined);
    const whole = joined(bytes);
    return whole === undefined ? undefined : Buffer.from(whole, "latin1");
  }

  async #readText(begun: Buffer, isEnough: (bytes: Buffer) => boolean): Promise<Buffer> {
    const text: Text = { bytes: begun, isEnough, isWhole: isEnough(begun) };
    if (text.isWhole) return begun;
    this.#text = text;
    this.#socket.resume();
    await this.#until(() => text.isWhole);
    this.#text = undefined;
    return text.bytes;
  }

  /**
   * Fills the buffer and returns the number of bytes. The number is less than the size of the buffer only if the body
   * has ended or broken off. If the body broke off, the next call throws the error.
   */
  async fill(buffer: Uint8Array): Promise<number> {
    const early = this.take(buffer);
    if (early === buffer.length || this.#left === 0) return early;
    const target = { buffer, filled: early };
    this.#target = target;
    this.#socket.resume();
    try {
      await this.#until(() => this.#target === undefined);
    } catch (error) {
      if (target.filled === 0) throw error;
    }
    this.#target = undefined;
    return target.filled;
  }

  /** Copies bytes that have already arrived into the buffer, and returns their number. */
  take(buffer: Uint8Array): number {
    const early = this.#early;
    const taken = early.length > buffer.length ? early.subarray(0, buffer.length) : early;
    buffer.set(taken);
    this.#early = taken === early ? nothing : early.subarray(taken.length);
    return taken.length;
  }

  /**
   * Keeps the connection idle for this many milliseconds, or until the server closes it. Returns false if the
   * connection cannot be reused.
   */
  rest(milliseconds: number): boolean {
    if (this.#failure) return false;
    this.#isResting = true;
    this.#deadline = performance.now() + milliseconds;
    this.#socket.unref();
    this.#socket.resume();
    return true;
  }

  /**
   * Closes the connection if its deadline has passed. A single timer calls this method for all connections, because
   * with a timer for each wait, reading a small object took a twelfth longer.
   */
  lookAtTime(now: number): void {
    if (now <= this.#deadline) return;
    // If a caller takes this connection from the idle ones just now, its request fails and it tries another connection.
    this.destroy(
      this.#isResting
        ? new Error("the connection was idle for too long")
        : timeout("the server sent nothing before the timeout"),
    );
  }

  destroy(error?: Error): void {
    if (error) this.#fail(error);
    this.#socket.destroy();
  }

  async #until(isDone: () => boolean, milliseconds = this.#timeout): Promise<void> {
    this.#deadline = performance.now() + milliseconds;
    while (!isDone()) {
      if (this.#failure) throw this.#failure.error;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#deadline = Number.POSITIVE_INFINITY;
  }

  /** Returns the buffer for the next read. Called right after every read, even if a pause follows. */
  #nextBuffer(): Uint8Array {
    if (!this.#target) return this.#scratch;
    const { buffer, filled } = this.#target;
    return buffer.subarray(filled, Math.min(buffer.length, filled + this.#left));
  }

  /** Handles received bytes. Returns false to stop reading until a reader asks for more. */
  #receive(length: number, buffer: Uint8Array): boolean {
    if (this.#deadline < Number.POSITIVE_INFINITY) this.#deadline = performance.now() + this.#timeout;
    const isScratch = buffer.buffer === this.#scratch.buffer;
    if (this.#text) this.#takeText(this.#text, length);
    else if (length > this.#left)
      this.destroy(new Error("the server sent more bytes than the Content-Length of its answer announces"));
    else if (isScratch) this.#takeScratch(length);
    else this.#count(length);
    this.#wake?.();
    return this.#text ? !this.#text.isWhole : this.#target !== undefined;
  }

  #takeText(text: Text, length: number): void {
    const come = this.#scratch.subarray(0, length);
    text.bytes = text.bytes.length === 0 ? Buffer.from(come) : Buffer.concat([text.bytes, come]);
    try {
      text.isWhole ||= text.isEnough(text.bytes);
    } catch (error) {
      this.destroy(error as Error);
    }
  }

  #takeScratch(length: number): void {
    const wanted = this.#target ? this.#target.buffer.subarray(this.#target.filled) : new Uint8Array();
    const taken = Math.min(length, wanted.length);
    wanted.set(this.#scratch.subarray(0, taken));
    if (taken < length) this.#early = Buffer.concat([this.#early, this.#scratch.subarray(taken, length)]);
    this.#left -= length - taken;
    this.#count(taken);
  }

  #count(length: number): void {
    this.#left -= length;
    if (!this.#target) return;
    this.#target.filled += length;
    const { buffer, filled } = this.#target;
    if (filled === buffer.length || this.#left === 0) this.#target = undefined;
  }

  #fail(error: Error): void {
    this.#failure ??= { error };
    this.#wake?.();
  }
}

const timeout = (message: string) => Object.assign(new Error(message), { code: "ETIMEDOUT" });

interface Reading {
  buffer(): Uint8Array;
  callback(length: number, buffer: Uint8Array): boolean;
}

function connect(origin: URL, settings: HttpSettings, onread: Reading): Socket {
  const host = origin.hostname.replace(/^\[|\]$/g, "");
  const { authorities, identity, verify, connectTimeout, keepsAlive } = settings;
  const isSecure = origin.protocol === "https:";
  const place = { host, port: Number(origin.port || (isSecure ? 443 : 80)), onread };
  const socket = isSecure
    ? secureConnect({
        ...place,
        ...(net.isIP(host) ? {} : { servername: host }),
        rejectUnauthorized: verify !== false,
        ...(authorities === undefined ? {} : { ca: authorities }),
        ...identity,
        ALPNProtocols: ["http/1.1"],
      })
    : net.connect(place);
  if (keepsAlive) socket.setKeepAlive(true, probesAfter);
  const timer = setTimeout(() => socket.destroy(timeout("the connection timed out")), connectTimeout * 1000);
  const stop = () => clearTimeout(timer);
  socket.once(isSecure ? "secureConnect" : "connect", stop).once("close", stop);
  return socket;
}
