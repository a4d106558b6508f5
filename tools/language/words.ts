// The words of this project's old private dialect, each with the field's word for it. Data only; language.ts applies it.
// A row is worth having when its pattern has next to no honest use in this code base. `fault` and `fine` are its test.

export interface WordRule {
  /** A blank matches any white space, so that a phrase may be broken over two lines. Letter case does not matter. */
  readonly pattern: string;
  readonly instead: string;
  /** What the rule judges: prose (comments, texts, documents), names (identifiers, file names), or both when absent. */
  readonly only?: 'prose' | 'names';
  /** Samples in which the rule finds a fault. */
  readonly fault: readonly string[];
  /** Samples in which it must not find one. */
  readonly fine?: readonly string[];
}

export const wordRules: readonly WordRule[] = [
  {
    pattern: '(?:told|tell|tells|telling)\\b(?! (?:\\w+ ){0,4}apart)',
    instead: 'report, publish, emit, notify, distinguish',
    fault: ['what was told', 'Tells why', 'toldAtMs', 'telling it\n// again'],
    fine: ['two pods that cannot be told apart', 'tell the two of them apart', 'untold', 'tellurium'],
  },
  { pattern: 'anew', instead: 'again', fault: ['starts anew', 'sidesAnew'] },
  {
    pattern:
      '(?<!\\b(?:users?|people|persons?|operators?|administrators?|clients?|callers?|readers?|peers?|anyone|someone|those) )who(?! (?:is|are|am|was|the|a|it|we|you|they)\\b)',
    instead: 'the caller, the client, the owner: name the actor',
    only: 'prose',
    fault: ['for who explains it', 'Who asks waits', 'by who reads the log', 'who has not taken the bytes'],
    fine: ['users who delete a pod', 'before it is known who the client is', 'whose', '$(WHO) is upper case'],
  },
  {
    pattern: '(?:whoever|whomever)',
    instead: 'the caller, any client',
    fault: ['whoever asks', 'whoeverAsks'],
  },
  {
    pattern: '(?<!\\b(?:as|user|group|uid|gid) )nobody(?!:)',
    instead: 'no caller, no pod, no one',
    only: 'prose',
    fault: ['nobody wants it', 'Nobody is left'],
    fine: ['runs as nobody', 'the user nobody', 'nobody:x:65534 of /etc/passwd'],
  },
  {
    pattern: '(?:somebody|anybody|everybody)',
    instead: 'a caller, another process, any pod',
    fault: ['somebody else', 'flockBySomebodyElse', 'before anybody sees it'],
  },
  {
    pattern: 'elsewhere',
    instead: 'the place itself: outside the volume, in a worker, by another component',
    fault: ['a link that leads elsewhere', 'isMountedElsewhere'],
  },
  {
    pattern: '(?:stranger|strangers)',
    instead: 'unknown peer, unclaimed',
    fault: ['forgetStrangers', 'a stranger'],
  },
  {
    pattern: '(?:rival|rivals)',
    instead: 'a pod of the same name',
    fault: ['findRival', 'its rivals'],
    fine: ['arrival', 'arrivalMs'],
  },
  {
    pattern: '(?:mend|mends|mended|mending|unmended)',
    instead: 'fix, repair, recover',
    fault: ['is mended', 'unmended', 'a restart would mend it'],
    fine: ['amend', 'recommended'],
  },
  {
    pattern: '(?:breathe|breathes|breathed|breathing)',
    instead: 'yield',
    fault: ['await breathe()', 'breathes'],
  },
  {
    pattern: '(?:ask|asks|asked|asking) for',
    instead: 'request',
    fault: ['what a pod asks for', 'is asked for again', 'askedFor'],
    fine: ['asks the runtime'],
  },
  {
    pattern: '(?:ask|asks|asked|asking) again',
    instead: 'retry, poll',
    fault: ['is given up and asked again'],
  },
  {
    pattern: '(?:is|are|was|were|be|been|being)(?: not| never| only)? asked(?! (?:for|again|anew)\\b)',
    instead: 'is called, is queried',
    only: 'prose',
    fault: ['the runtime is asked', 'need not be asked'],
  },
  {
    pattern:
      '(?:is|are|was|were|be|been)(?: not| no longer| still| already| never)? there(?! (?:is|are|was|were|has|a|an|any|no|such|anything|something|to)\\b)',
    instead: 'exists, is present, is missing',
    fault: ['a file that is not there', 'what is there', 'as soon as it is there', 'was there already'],
    fine: ['whether there is one', 'is there a pod', 'as long as there are containers'],
  },
  {
    pattern: '(?:go|goes|went|going|gone) on(?! (?:the|a|port|disk|its|their)\\b)',
    instead: 'continue, proceed, be in flight',
    fault: ['the others go on', 'what goes on right now', 'went on'],
    fine: ['bytes that go on the wire', 'goes on its own connection'],
  },
  {
    pattern: '(?:come|comes|came|coming) back',
    instead: 'return, recover, reappear',
    fault: ['the runtime comes back', 'came back'],
  },
  {
    pattern: '(?:go|goes|went|going|gone) away',
    instead: 'disconnect, disappear, be removed',
    fault: ['the client went away', 'goesAway'],
    fine: ['GOAWAY frame'],
  },
  {
    pattern: '(?:is|are|was|were|be|been) away',
    instead: 'is unreachable, is absent',
    fault: ['the API server is away'],
  },
  {
    pattern: '(?:let|lets|letting) go(?! (?:\\w+ )?(?:decode|encode|parse))',
    instead: 'release, close',
    fault: ['lets go of the timer', 'to be let go'],
  },
  {
    pattern: '(?:give|gives|gave|given|giving) back',
    instead: 'release, return, tear down',
    fault: ['volumes are given back', 'gives back the slot'],
  },
  {
    pattern: '(?:take|takes|took|taken|taking) (?:back|note of)',
    instead: 'revert, withdraw, record',
    fault: ['takes back what was published', 'take note of it'],
  },
  {
    pattern: '(?:look|looks|looked|looking) at',
    instead: 'inspect, read, check',
    fault: ['is looked at again', 'looks at the outcome', 'the next look at it'],
  },
  {
    pattern: '(?:hear|hears|unheard|(?:has|have|had|not|never|is) heard|heard of)',
    instead: 'receive, be notified, handle',
    fault: ['hears of a failure', 'must not go unheard', 'has not heard of it'],
  },
  {
    pattern:
      '(?:this|next|last|earlier|former|another|other|previous|new|first|second|every|each|of a|in a) (?:life|lives)(?! ?-?cycle)',
    instead: 'run, process, instance, restart',
    fault: ['of an earlier life', 'in this life', 'the next life'],
    fine: ['a lifecycle', 'the life of a token'],
  },
  {
    pattern: 'last words?',
    instead: 'final output',
    fault: ['the last words of a runtime'],
    fine: ['the last password'],
  },
  { pattern: 'for ever', instead: 'forever, indefinitely', fault: ['not for ever'], fine: ['for every pod'] },
  { pattern: 'lately', instead: 'recently', fault: ['admitted lately'] },
  { pattern: 'unsteady', instead: 'flaky', fault: ['an unsteady test'] },
  { pattern: '(?:reckon|reckons|reckoned|reckoning)', instead: 'compute, count', fault: ['reckons with it'] },
  { pattern: 'spares', instead: 'avoids, saves', fault: ['spares a write'] },
  { pattern: 'thought of', instead: 'considered', fault: ['is not thought of'] },
  {
    pattern: 'users of (?:their|its) own',
    instead: 'user namespaces',
    fault: ['pods with users of their own'],
  },
  { pattern: 'server of names', instead: 'DNS server', fault: ['a server of names'] },
  {
    pattern: '(?:push|pushes|pushed|pushing)(?: \\w+)? aside',
    instead: 'preempt',
    fault: ['push others aside', 'pushed aside'],
  },
  {
    pattern: '(?:(?:the|a) room of|rooms of)',
    instead: 'the folder, the component: name it',
    fault: ['The room of the probes', 'rooms of the composition root'],
    fine: ['room for a critical pod'],
  },
  {
    pattern: '(?:says|said)',
    instead: 'report, state, specify, describe',
    fault: ['what the runtime says', 'said', 'as the manifest says'],
  },
  {
    pattern: 'all the same',
    instead: 'nevertheless, anyway',
    fault: ['runs all the same'],
    fine: ['they are all of the same kind'],
  },
  { pattern: 'for want of', instead: 'because of missing', fault: ['killed for want of memory'] },
  { pattern: '(?:can|cannot|could|to) be had', instead: 'available', fault: ['a port that cannot be had'] },
  { pattern: 'learnt', instead: 'measured, read, known', fault: ['what could not be learnt'] },
  { pattern: '(?:has|have|had|not) spoken', instead: 'reported', fault: ['every source has spoken'] },
  {
    pattern: '(?:hold|holds|held|holding) up',
    instead: 'delay, block',
    fault: ['a review that hangs holds up only itself'],
  },
  {
    pattern: 'that (?:is|are) none',
    instead: 'invalid',
    fault: ['a quantity that is none'],
    fine: ['if there is none'],
  },
  {
    pattern: '(?:all|it|one that) is well',
    instead: 'healthy, valid',
    fault: ['when all is well', 'one that is well'],
  },
  {
    pattern: '(?:put|puts) together',
    instead: 'assemble, build',
    fault: ['puts together what belongs together'],
  },
  { pattern: 'and be it', instead: 'even if it is', fault: ['when something is, and be it a link'] },
  {
    pattern: '(?:whence|whither|thereof|therein|wherein|wherewith)',
    instead: 'from where, to where, of it, in which',
    fault: ['whence it came'],
  },
  {
    pattern: 'what (?:was|is|were|has been) made',
    instead: 'what was created, started',
    fault: ['what was made'],
  },
  {
    pattern: '(?<!regex )made',
    instead: 'created, started, built',
    only: 'names',
    fault: ['MadePod', 'made'],
    fine: ['nomade', 'regexMade'],
  },
  { pattern: 'meant', instead: 'matched, selected', only: 'names', fault: ['isMeant'] },
  { pattern: 'taking', instead: 'teardown, claim', only: 'names', fault: ['taking'] },
  { pattern: 'asking', instead: 'request, pending', only: 'names', fault: ['asking'], fine: ['masking'] },
  {
    pattern: 'why not',
    instead: 'the reason: rejection, unavailableReason',
    only: 'names',
    fault: ['whyNotLocal'],
  },
];
