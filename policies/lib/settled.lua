--- Decisions in other languages than English: by language, how a choice is settled for good, and what leaves
--- it open. Used by `decisions`.
---
--- As precise as the English ones: who wonders, negates, or settles something for a while decides nothing.

--- A language. `settles`: a sentence that settles a choice. `open`: what stands before that where nothing is
--- settled yet. `passing`: what makes it a choice for a while, wherever it stands.
---@class Settled
---@field settles string
---@field open string
---@field passing string

---@type Settled[]
return {
  -- German.
  {
    settles = "\\b(?:wir|ich) (?:haben|habe) (?:\\S+ ){0,8}?(?:entschieden|beschlossen|geeinigt|festgelegt)\\b|^(?:entscheidung|beschluss|beschlossen|entschieden) ?:|\\bes bleibt (?:dabei|endgültig)\\b|^(?:gut, |ok, |also )*wir (?:nehmen|verwenden|bleiben bei) .+ (?:statt|anstelle|anstatt)\\b",
    open = "\\b(?:ob|falls|wenn|bevor|sobald|seit|weil|dass|warum|wie|vielleicht|wahrscheinlich|könnten?|würden?|sollten?)\\b",
    passing = "\\b(?:nicht|nichts|nie|vorerst|erst ?mal|zunächst|vorläufig|einstweilen|früher|damals|ursprünglich|letzt(?:e|es|en) (?:jahr|monat|woche|mal)) (?:\\S+ ){0,6}?(?:entschieden|beschlossen|geeinigt|festgelegt)|\\b(?:vorerst|erst ?mal|vorläufig|einstweilen|versuchsweise|damals|ursprünglich)\\b",
  },
  -- French.
  {
    settles = "\\b(?:nous avons|on a) (?:enfin |donc |tous |finalement |ensemble )*(?:décidé|convenu|choisi|opté)\\b|^décision ?:|\\b(?:c['’]est|il est) décidé\\b|^(?:ok, |bon, |alors )*(?:nous|on) (?:prend|prenons|garde|gardons|reste sur|restons sur|part sur|partons sur) .+ (?:plutôt que|au lieu de)\\b",
    open = "\\b(?:si|quand|avant|comme|pourquoi|peut-être|probablement|pourrait|pourrions|devrait|devrions)\\b",
    passing = "\\b(?:pour l['’]instant|pour le moment|provisoirement|temporairement|autrefois|à l['’]époque|l['’]an(?:née)? derni(?:er|ère)|au début)\\b",
  },
  -- Spanish.
  {
    settles = "\\b(?:hemos (?:finalmente |por fin )?(?:decidido|acordado|elegido|optado)|decidimos|acordamos|optamos por)\\b|^decisión ?:|\\b(?:está|queda) decidido\\b",
    open = "\\b(?:no|si|cuando|antes|como|quizás?|tal vez|probablemente|podríamos|deberíamos)\\b|¿",
    passing = "\\b(?:por ahora|de momento|por el momento|provisionalmente|temporalmente|en aquel entonces|al principio|el año pasado)\\b",
  },
  -- Italian.
  {
    settles = "\\babbiamo (?:finalmente |infine )?(?:deciso|concordato|scelto|optato)\\b|^decisione ?:|\\bè deciso\\b",
    open = "\\b(?:non|se|quando|prima|come|forse|probabilmente|potremmo|dovremmo)\\b",
    passing = "\\b(?:per ora|per il momento|provvisoriamente|temporaneamente|all['’]inizio|l['’]anno scorso)\\b",
  },
  -- Portuguese.
  {
    settles = "\\b(?:decidimos|combinamos|acordamos|optamos por|escolhemos)\\b|^decisão ?:|\\b(?:está|ficou) decidido\\b",
    open = "\\b(?:não|se|quando|antes|como|talvez|provavelmente|poderíamos|deveríamos)\\b",
    passing = "\\b(?:por enquanto|por agora|provisoriamente|temporariamente|naquela época|no início|no ano passado)\\b",
  },
  -- Dutch.
  {
    settles = "\\bwe hebben (?:\\S+ ){0,8}?(?:besloten|afgesproken|gekozen)\\b|^(?:besluit|beslissing|besloten) ?:|\\bhet is besloten\\b",
    open = "\\b(?:of|als|toen|voordat|omdat|waarom|hoe|misschien|waarschijnlijk|zouden?)\\b",
    passing = "\\b(?:niet|niets|nooit) (?:\\S+ ){0,4}?(?:besloten|afgesproken|gekozen)|\\b(?:voorlopig|voor nu|tijdelijk|destijds|aanvankelijk|vorig jaar)\\b",
  },
  -- Russian.
  {
    settles = "\\bмы (?:наконец |уже |все )*(?:решили|договорились|выбрали)\\b|^(?:решение|решено) ?:|^решено,",
    open = "\\b(?:если|когда|почему|как|может быть|возможно|наверное|бы)\\b",
    passing = "\\b(?:пока|временно|раньше|тогда|сначала|в прошлом году)\\b",
  },
  -- Chinese.
  {
    settles = "(?:我们|咱们)(?:已经|已|最终|最后|一致|都)*(?:决定|商定|选定)|^决定[:：]|就这么定了",
    open = "如果|也许|可能|是否|为什么|当",
    passing = "还没|尚未|没有决定|暂时|暂且|当时|去年|吗",
  },
  -- Japanese.
  {
    settles = "(?:ことに(?:決めました|決めた|決定しました)|[にとで](?:決まりました|決定しました|合意しました))|^決定[:：]",
    open = "もし|なぜ|たぶん|おそらく",
    passing = "まだ|とりあえず|一旦|いったん|暫定|当時|去年|かもしれ",
  },
  -- Korean.
  {
    settles = "(?:기로|으로|로) (?:최종 )?(?:결정했|정했|합의했)|^결정 ?[:：]",
    open = "만약|왜|아마|어쩌면",
    passing = "아직|일단|당분간|임시로|당시|작년",
  },
}
