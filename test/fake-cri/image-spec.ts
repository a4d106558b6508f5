// Images of the fake runtime.

export interface FakeImageSpec {
  /** A reference with or without registry and tag. */
  readonly name: string;
  readonly sizeBytes?: number;
  readonly entrypoint?: readonly string[];
  readonly cmd?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** As in a Dockerfile: a UID, a user name, or empty for root. */
  readonly user?: string;
  readonly pinned?: boolean;
}

export interface FakeImage {
  readonly id: string;
  readonly spec: FakeImageSpec;
  readonly tags: readonly string[];
  /** Only pulled images have digests. */
  readonly digests: readonly string[];
}
