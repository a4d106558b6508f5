// What an image of the fake runtime is.

export interface FakeImageSpec {
  /** A reference with or without registry and tag. */
  readonly name: string;
  readonly sizeBytes?: number;
  readonly entrypoint?: readonly string[];
  readonly cmd?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** As in a Dockerfile: a number, a name, or nothing for root. */
  readonly user?: string;
  readonly pinned?: boolean;
}

export interface FakeImage {
  readonly id: string;
  readonly spec: FakeImageSpec;
  readonly tags: readonly string[];
  /** Known only of images that were pulled. */
  readonly digests: readonly string[];
}
