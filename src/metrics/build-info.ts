// The labels of kubernetes_build_info. Labels that apply only to a Go build are empty.
export function buildInfo(input: {
  readonly version: string;
  readonly major: number;
  readonly minor: number;
  readonly architecture: string;
  readonly nodeVersion: string;
}) {
  const { architecture, major, minor, nodeVersion, version } = input;
  return {
    major: String(major),
    minor: String(minor),
    git_version: version,
    git_commit: '',
    git_tree_state: '',
    build_date: '',
    go_version: '',
    compiler: `node ${nodeVersion}`,
    platform: `linux/${architecture}`,
  };
}
