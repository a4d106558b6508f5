// A shell in a container.

interface TerminalViewProps {
  readonly namespace: string;
  readonly name: string;
  readonly container: string;
  readonly token: string | undefined;
}

export default function TerminalView({ container }: TerminalViewProps) {
  return <section aria-label="Terminal">{container}</section>;
}
