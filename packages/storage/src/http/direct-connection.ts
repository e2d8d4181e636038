/**
 * A connection that reads a body straight into the buffers it is given, in which the socket puts the bytes itself.
 * Measured: a download of two gigabytes takes 1.8 seconds of processor time; the ordinary way, which allocates a buffer
 * for every 64 KiB and copies it for its parser, takes five. Small objects take a fifth less.
 */
import net, { type Socket } from "node:net";
import { connect as secureConnect } from "node:tls";
import { joinChunks } from "./chunks.ts";
import type { HttpSettings } from "./client.ts";
import { type AnswerHead, parseHead } from "./head.ts";

/** Where bytes go that come before there is a buffer for them. */
const scratchSize = 16 * 1024;

const longestHead = 32 * 1024;

/** Of a body in chunks. */
const longestText = 256 * 1024;

const blankLine = "\r\n\r\n";

function hasHead(text: string): boolean {
  const isThere = text.includes(blankLine);
  if (!isThere && text.length > longestHead) throw new Error("the head of the answer is too long");
  return isThere;
}

interface Text {
  value: string;
  readonly isEnough: (value: string) => boolean;
  /** Over TLS more may come even so, of what was read before the pause. */
  isWhole: boolean;
}

/** An answer, the length of whose body is known. */
export type DirectHead = AnswerHead & { readonly length: number };

export class DirectConnection {
  readonly #socket: Socket;
  readonly #timeout: number;
  readonly #scratch = Buffer.allocUnsafeSlow(scratchSize);
  /** What has come of a text, of which no more is read than is enough. */
  #text: Text | undefined;
  /** Bytes of the body that came before they were asked for. */
  #early = Buffer.alloc(0);
  /** Bytes of the body that are still on their way. */
  #left = 0;
  #target: { readonly buffer: Uint8Array; filled: number } | undefined;
  #isConnected = false;
  #failure: { readonly error: Error } | undefined;
  #wake: (() => void) | undefined;

  /** `onClose` is told when nothing more can come of it. */
  constructor(origin: URL, settings: HttpSettings, onClose: () => void) {
    this.#timeout = settings.readTimeout * 1000;
    this.#socket = connect(origin, settings, {
      buffer: () => this.#nextBuffer(),
      callback: (length, buffer) => this.#receive(length, buffer),
    });
    this.#socket.setNoDelay(true);
    this.#socket.once(origin.protocol === "https:" ? "secureConnect" : "connect", () => {
      this.#isConnected = true;
      this.#wake?.();
    });
    this.#socket.on("timeout", () => this.destroy(timeout("nothing came in time")));
    this.#socket.on("error", (error) => this.#fail(error));
    this.#socket.on("close", () => {
      this.#fail(new Error("the connection was closed"));
      onClose();
    });
  }

  /** Sends a head and waits for the answer's; undefined where that is none for this kind of reading. */
  async ask(head: string): Promise<DirectHead | undefined> {
    this.#socket.ref();
    if (!this.#isConnected) await this.#until(() => this.#isConnected, 0);
    this.#socket.write(head, "latin1");
    const text = await this.#readText("", hasHead);
    const end = text.indexOf(blankLine);
    const answer = parseHead(text.slice(0, end));
    const rest = text.slice(end + blankLine.length);
    const early = answer && answer.length === undefined ? await this.#readChunks(rest) : rest;
    if (!answer || early === undefined) return undefined;
    this.#early = Buffer.from(early, "latin1");
    const length = answer.length ?? early.length;
    this.#left = length - early.length;
    // More than the body: nobody knows what that is.
    return this.#left < 0 ? undefined : { ...answer, length };
  }

  /** Short answers come in chunks, mostly those that tell of an error. Undefined: it is not short. */
  async #readChunks(begun: string): Promise<string | undefined> {
    const text = await this.#readText(begun, (value) => value.length > longestText || joinChunks(value) !== undefined);
    return joinChunks(text);
  }

  async #readText(begun: string, isEnough: (value: string) => boolean): Promise<string> {
    const text: Text = { value: begun, isEnough, isWhole: isEnough(begun) };
    if (text.isWhole) return begun;
    this.#text = text;
    this.#socket.resume();
    await this.#until(() => text.isWhole);
    this.#text = undefined;
    return text.value;
  }

  /** Fewer bytes have come than the buffer holds when the body has ended, or broke off: then the next call says why. */
  async fill(buffer: Uint8Array): Promise<number> {
    const early = this.#early.subarray(0, buffer.length);
    buffer.set(early);
    this.#early = this.#early.subarray(early.length);
    if (early.length === buffer.length || this.#left === 0) return early.length;
    const target = { buffer, filled: early.length };
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

  /** Waits so many milliseconds for another use, or for the server to close. False: nothing can be asked of it. */
  rest(milliseconds: number): boolean {
    if (this.#failure) return false;
    this.#socket.setTimeout(milliseconds);
    this.#socket.unref();
    this.#socket.resume();
    return true;
  }

  destroy(error?: Error): void {
    if (error) this.#fail(error);
    this.#socket.destroy();
  }

  async #until(isDone: () => boolean, timeout = this.#timeout): Promise<void> {
    this.#socket.setTimeout(timeout);
    while (!isDone()) {
      if (this.#failure) throw this.#failure.error;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#socket.setTimeout(0);
  }

  /** Asked for after every reading; what is given is used for the next, even if that is after a pause. */
  #nextBuffer(): Uint8Array {
    if (!this.#target) return this.#scratch;
    const { buffer, filled } = this.#target;
    return buffer.subarray(filled, Math.min(buffer.length, filled + this.#left));
  }

  /** False: nothing more is read until somebody asks. */
  #receive(length: number, buffer: Uint8Array): boolean {
    const isScratch = buffer.buffer === this.#scratch.buffer;
    if (this.#text) this.#takeText(this.#text, length);
    else if (length > this.#left) this.destroy(new Error("more came than the answer had announced"));
    else if (isScratch) this.#takeScratch(length);
    else this.#count(length);
    this.#wake?.();
    return this.#text ? !this.#text.isWhole : this.#target !== undefined;
  }

  #takeText(text: Text, length: number): void {
    text.value += this.#scratch.toString("latin1", 0, length);
    try {
      text.isWhole ||= text.isEnough(text.value);
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
  const { authorities, verify, connectTimeout } = settings;
  const isSecure = origin.protocol === "https:";
  const place = { host, port: Number(origin.port || (isSecure ? 443 : 80)), onread };
  const socket = isSecure
    ? secureConnect({
        ...place,
        ...(net.isIP(host) ? {} : { servername: host }),
        rejectUnauthorized: verify !== false,
        ...(authorities === undefined ? {} : { ca: authorities }),
        ALPNProtocols: ["http/1.1"],
      })
    : net.connect(place);
  const timer = setTimeout(() => socket.destroy(timeout("no connection was made in time")), connectTimeout * 1000);
  const stop = () => clearTimeout(timer);
  socket.once(isSecure ? "secureConnect" : "connect", stop).once("close", stop);
  return socket;
}
