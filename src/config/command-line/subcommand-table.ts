// The rows of the commands beside running the kubelet. Data only.
// Imported by the entry file on every start, so it imports nothing.

/** What a free value is, as --help shows it. FILE and DIRECTORY complete paths. */
type FreeValue = 'CONTAINER' | 'DIRECTORY' | 'DURATION' | 'FILE' | 'NAME' | 'NUMBER' | 'TEXT' | 'URL';

export interface SubcommandOption {
  /** Without the dashes. */
  readonly name: string;
  /** One letter, without the dash. */
  readonly short?: string;
  /** The values that it takes, or what kind of value; absent for an option without a value. */
  readonly values?: readonly string[] | FreeValue;
  readonly summary: string;
}

interface SubcommandArgument {
  /** The values that it takes, or what it names. */
  readonly values: readonly string[] | 'POD';
  readonly required: boolean;
}

export interface SubcommandSpec {
  readonly summary: string;
  /** For the manual page; one paragraph each. */
  readonly description: readonly string[];
  /** Its only argument. */
  readonly argument?: SubcommandArgument;
  readonly options: readonly SubcommandOption[];
  /** Whether it takes the flags of the kubelet, too. */
  readonly takesKubeletFlags: boolean;
}

/** Where the commands that show the node find its kubelet. */
const connection: readonly SubcommandOption[] = [
  {
    name: 'root-dir',
    values: 'DIRECTORY',
    summary: 'The root directory of the kubelet, which has its socket (default /var/lib/kubelet)',
  },
  {
    name: 'server',
    short: 's',
    values: 'URL',
    summary: 'Connect to a port instead of the socket, such as https://127.0.0.1:10250',
  },
  { name: 'client-certificate', values: 'FILE', summary: 'The client certificate for --server, in PEM' },
  { name: 'client-key', values: 'FILE', summary: 'The key of the client certificate' },
  { name: 'token-file', values: 'FILE', summary: 'A file with the bearer token for --server' },
  {
    name: 'certificate-authority',
    values: 'FILE',
    summary: 'The authority of the certificate of --server, in PEM',
  },
  {
    name: 'insecure-skip-tls-verify',
    summary: 'Accept any certificate of --server; others on the network can read along',
  },
];

const namespace: readonly SubcommandOption[] = [
  { name: 'namespace', short: 'n', values: 'NAME', summary: 'Only pods of this namespace' },
  { name: 'all-namespaces', short: 'A', summary: 'Pods of all namespaces, which is the default' },
];

const textOrJson: SubcommandOption = {
  name: 'output',
  short: 'o',
  values: ['text', 'json'],
  summary: 'Print text, or JSON for programs',
};

const whereFrom =
  'It connects to the socket of the kubelet of this node, for which it must run as root, or to --server. Text of pods is printed without control characters.';
const podArgument =
  'POD is NAME or NAMESPACE/NAME. If no pod has that name, it may be the beginning of one up to a dash: hello finds hello-node1.';

export const subcommandTable = {
  completion: {
    summary: 'Print the completion script of a shell',
    description: [
      'Prints a script that completes commands, flags and the values of flags. Load it with: source <(kubelet completion bash), or install it where the shell looks for completions.',
    ],
    argument: { values: ['bash', 'zsh', 'fish'], required: true },
    options: [],
    takesKubeletFlags: false,
  },
  doctor: {
    summary: 'Check this machine and print what is wrong with the fix',
    description: [
      'Checks this machine with the settings of the kubelet: give it the same flags, such as --config. It prints one line per check (ok, warn or FAIL) and the fix below each finding. No check changes the machine, and each has a deadline.',
      'The exit status is 0 if nothing failed, 1 if a check failed, and 2 if the arguments are wrong. docs/doctor.md describes every check.',
    ],
    options: [
      { name: 'output', values: ['text', 'json'], summary: 'Print lines of text, or JSON for programs' },
    ],
    takesKubeletFlags: true,
  },
  explain: {
    summary: 'Explain the state of a pod, or the eviction order',
    description: [
      'Prints what the pod waits for and since when, its containers with their backoff, the stages of its start, its probes, volumes, ends and events. With --eviction: which pods would be evicted now, in order, and why.',
      podArgument,
      whereFrom,
    ],
    argument: { values: 'POD', required: false },
    options: [
      { name: 'eviction', summary: 'Explain the eviction order of the node instead of a pod' },
      ...namespace,
      textOrJson,
      ...connection,
    ],
    takesKubeletFlags: false,
  },
  history: {
    summary: 'Print why containers and pods ended, newest first',
    description: [
      'Prints one line for every container that ended and for every pod that was evicted, preempted, rejected or terminated by the node, also for pods that are gone. With a POD or --lines the last lines of the log follow.',
      podArgument,
      whereFrom,
    ],
    argument: { values: 'POD', required: false },
    options: [
      { name: 'lines', summary: 'Print the last lines of the log of every end' },
      { name: 'limit', values: 'NUMBER', summary: 'At most so many ends, 1 to 1000 (default 20)' },
      ...namespace,
      textOrJson,
      ...connection,
    ],
    takesKubeletFlags: false,
  },
  logs: {
    summary: 'Print the log of a pod',
    description: [
      'Prints the log of a container. With --follow it keeps printing, also over a restart of the kubelet, without losing or doubling a line. On a terminal control characters other than colours are made visible; otherwise the bytes are those of the container.',
      podArgument,
      whereFrom,
    ],
    argument: { values: 'POD', required: true },
    options: [
      { name: 'container', short: 'c', values: 'CONTAINER', summary: 'The container (default: the first)' },
      { name: 'all-containers', summary: 'The logs of all containers of the pod' },
      { name: 'prefix', summary: 'Print pod and container before every line' },
      { name: 'follow', short: 'f', summary: 'Print new lines as they come' },
      { name: 'previous', short: 'p', summary: 'The container before the last restart' },
      { name: 'tail', values: 'NUMBER', summary: 'Only so many lines from the end' },
      { name: 'since', values: 'DURATION', summary: 'Only lines of so long ago, such as 90s or 1h30m' },
      { name: 'timestamps', summary: 'Print the time of every line' },
      { name: 'grep', values: 'TEXT', summary: 'Only lines with this text, which is no regular expression' },
      { name: 'raw', summary: 'Print the bytes of the container on a terminal, too' },
      { name: 'namespace', short: 'n', values: 'NAME', summary: 'The namespace of the pod' },
      ...connection,
    ],
    takesKubeletFlags: false,
  },
  man: {
    summary: 'Print the manual page kubelet(8)',
    description: [
      'Prints this page in the format of man(7). Read it with: kubelet man | man -l -, or install it as kubelet.8.',
    ],
    options: [],
    takesKubeletFlags: false,
  },
  ps: {
    summary: 'List the pods of the node and what they wait for',
    description: [
      'Prints a line for every pod: ready containers, status in the words of kubectl, restarts, age, address, and what the pod waits for. With --watch a terminal shows the table as it changes; otherwise one line is printed per change.',
      whereFrom,
    ],
    options: [
      { name: 'watch', short: 'w', summary: 'Keep showing changes until Ctrl-C' },
      ...namespace,
      {
        name: 'output',
        short: 'o',
        values: ['text', 'wide', 'json'],
        summary: 'Print text, text with containers, or JSON for programs',
      },
      ...connection,
    ],
    takesKubeletFlags: false,
  },
  top: {
    summary: 'Print the CPU and memory usage of the node and its pods',
    description: [
      'Prints the usage of the node and of every running pod: CPU over one second, in thousandths of a core, and the working set of memory.',
      whereFrom,
    ],
    options: [
      { name: 'containers', summary: 'Print the usage of every container' },
      { name: 'sort', values: ['cpu', 'memory', 'name'], summary: 'The order of the pods (default cpu)' },
      { name: 'watch', short: 'w', summary: 'Print again every two seconds until Ctrl-C' },
      ...namespace,
      textOrJson,
      ...connection,
    ],
    takesKubeletFlags: false,
  },
} as const satisfies Readonly<Record<string, SubcommandSpec>>;
