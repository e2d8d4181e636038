/**
 * The seccomp filter for sandboxed jobs, as classic BPF with eight bytes per instruction. It refuses new user
 * namespaces, which would give a job all capabilities. It refuses keyrings, which are shared across sandboxes. If no
 * control group counts a job's memory, it also refuses memory that belongs to no process: memfd files and System V
 * segments.
 */

interface Calls {
  /** The kernel's number for the instruction set (AUDIT_ARCH_*). */
  readonly arch: number;
  readonly clone: number;
  readonly unshare: number;
  readonly keys: readonly number[];
  /** System call numbers of memfd_create and shmget and, on i386, of the older call `ipc`, which includes shmget. */
  readonly memory: readonly number[];
  /** First number of a second system call table (x32 on x64). The filter refuses all system calls of that table. */
  readonly secondTable?: number;
}

/** Numbers of newer system calls, which are the same on every architecture. */
const [clone3, memfdSecret] = [435, 447];

const x64: Calls = {
  ...{ arch: 0xc000003e, clone: 56, unshare: 272, keys: [248, 249, 250], memory: [319, 29] },
  secondTable: 0x40000000,
};
const i386: Calls = { arch: 0x40000003, clone: 120, unshare: 310, keys: [286, 287, 288], memory: [356, 395, 117] };
const arm64: Calls = { arch: 0xc00000b7, clone: 220, unshare: 97, keys: [217, 218, 219], memory: [279, 194] };
const arm: Calls = { arch: 0x40000028, clone: 120, unshare: 337, keys: [309, 310, 311], memory: [385, 307] };

/** System call tables by processor. Each processor also runs 32-bit programs, which have their own table. */
const tables: Readonly<Record<string, readonly Calls[]>> = { x64: [x64, i386], arm64: [arm64, arm] };

const newUserNamespace = 0x10000000;
const allow = 0x7fff0000;
const fail = (errno: number) => 0x00050000 + errno;
const [notPermitted, noSuchCall] = [fail(1), fail(38)];

type Instruction = readonly [code: number, whenTrue: number, whenFalse: number, value: number];

/** Byte offsets in the kernel's `seccomp_data`, which describes a system call to the filter. */
const [numberAt, archAt, firstArgumentAt] = [0, 4, 16];
const load = (offset: number): Instruction => [0x20, 0, 0, offset];
const answer = (value: number): Instruction => [0x06, 0, 0, value];
/** Conditional jumps. `yes` and `no` are how many instructions to skip if the condition is true or false. */
const ifEqual = (value: number, yes: number, no: number): Instruction => [0x15, yes, no, value];
const ifAtLeast = (value: number, yes: number, no: number): Instruction => [0x35, yes, no, value];
const ifBits = (value: number, yes: number, no: number): Instruction => [0x45, yes, no, value];

function block({ arch, clone, unshare, keys, memory, secondTable }: Calls, countsMemory: boolean): Instruction[] {
  // A program that gets ENOSYS for these calls falls back to files in /dev/shm, which are counted.
  const uncounted = countsMemory ? [] : [...memory, memfdSecret];
  const body = [
    load(numberAt),
    ...(secondTable === undefined ? [] : [ifAtLeast(secondTable, 0, 1), answer(noSuchCall)]),
    // The flags of clone3 are in memory, which a filter cannot read. A program that gets ENOSYS falls back to clone.
    ...[ifEqual(clone3, 0, 1), answer(noSuchCall)],
    ...keys.flatMap((call) => [ifEqual(call, 0, 1), answer(notPermitted)]),
    ...uncounted.flatMap((call) => [ifEqual(call, 0, 1), answer(noSuchCall)]),
    ...[ifEqual(clone, 1, 0), ifEqual(unshare, 0, 3)],
    ...[load(firstArgumentAt), ifBits(newUserNamespace, 0, 1), answer(notPermitted)],
    answer(allow),
  ];
  return [load(archAt), ifEqual(arch, 0, body.length), ...body];
}

/** Returns the filter program, or undefined if the system call numbers of this processor are not listed above. */
export function callFilter(processor: string, countsMemory: boolean): Buffer | undefined {
  const calls = tables[processor];
  if (!calls) return undefined;
  const program = [...calls.flatMap((table) => block(table, countsMemory)), answer(noSuchCall)];
  const bytes = Buffer.alloc(8 * program.length);
  for (const [index, [code, whenTrue, whenFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, 8 * index);
    bytes.writeUInt8(whenTrue, 8 * index + 2);
    bytes.writeUInt8(whenFalse, 8 * index + 3);
    bytes.writeUInt32LE(value, 8 * index + 4);
  }
  return bytes;
}
