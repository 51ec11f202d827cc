"""Names of people, by which somebody for whom one works is told from a company."""

from collections.abc import Sequence

from recollect.text.updates.word_lists import word_set


def is_person_name(words: Sequence[str]) -> bool:
    """Whether a name is one of a person, as far as that is known by its first word."""
    return words[0].lower().rstrip(".,") in _GIVEN_NAMES


_GIVEN_NAMES = word_set("""
    mr mrs ms miss dr prof professor sir lady lord señor señora herr frau madame monsieur uncle aunt mom mum dad
    aaron abby abdul abigail adam adaeze adele adrian agnes agnieszka ahmed aisha alan alba albert alberto alejandra
    alejandro alessandra alessandro alex alexander alexandra alexei alexis alfred ali alice alicia alina alison
    allison amanda amber amelia amina amir amit amy ana anastasia anders andre andrea andreas andrei andrew andy
    angel angela angelica angelo anita anja anke ann anna anne annette annie anthony antoine anton antonia antonio
    anya april arjun arthur arturo asha ashley astrid audrey aurora axel ayesha barbara barry beatrice beatriz becky
    ben benedict benjamin bernard bernd bert beth bettina betty bianca bill billy birgit björn bo bob bobby boris
    brad bradley brandon brenda brian bridget britta bruce bruno bryan camila camille carl carla carlos carmen carol
    carolina caroline cass cathy cecilia celia chad chan charles charlie charlotte chen chiara chloe chris christa
    christian christina christine christopher cindy claire clara claudia claudio clemens cleo colin connor craig
    cristina curtis cynthia dagmar daisy damien dan dana daniel daniela daniele danielle danny daphne dario dave
    david dawn dean deborah debbie denis denise dennis derek diana diane dick diego dieter dimitri dina dirk dmitri
    dominic don donald donna doris dorothy doug douglas duncan dylan ed eddie edgar edith eduardo edward edwin
    eileen elaine elena eleanor eli elias elif elisa elisabeth elise eliza elizabeth ella ellen ellie elsa elvira
    emil emilia emilio emily emma emmanuel enrique eric erica erik erika erin ernst esra esteban esther ethan eugene
    eva evan eve evelyn fabian fabio fatima federico felicia felipe felix fernanda fernando fiona florian frances
    francesca francesco francis francisco frank franz fred frederick frieda fritz gabriel gabriela gabriele gareth
    gary gavin gemma george georg georgia gerald gerard gerd gina giorgio giovanni gisela giulia giuseppe gloria
    gordon grace graham greg gregory greta guido guillermo gunther gustav hana hank hanna hannah hans harald harold
    harriet harry harvey hasan hassan heather hector heidi heike heinz helen helena helene helga henri henrik henry
    herbert hermann hilda hiroko hiroshi holger holly horst hugh hugo ian ibrahim ida ignacio igor imran ines inga
    inge ingrid irene irina iris isaac isabel isabella ivan ivana jack jackie jacob jacqueline jacques jake jakob
    james jamie jan jana jane janet janice jared jasmine jason javier jay jean jeff jeffrey jen jenna jennifer jenny
    jens jeremy jerome jerry jess jesse jessica jill jim jimmy jin jing joan joana joanna joanne joao joão jochen
    joe joel johan johanna johannes john johnny jon jonas jonathan jordan jorge jörg jose josé josef joseph josh
    joshua joy joyce juan juana judith judy jules julia julian juliana julie juliet julio julius jürgen justin
    justine kai kamal karen karim karin karl karla kate katharina katherine kathleen kathryn kathy katie katja
    katrin kavita keiko keith kelly ken kenji kenneth kerstin kevin khalid kim kirsten klara klaus kofi krishna
    kristen kristin kristina kumar kurt kwame kyle lara larissa larry lars laszlo laura lauren laurent lea leah
    leila lena leo leon leonard leonardo leonie leslie lewis li liam lidia lilian lily lina linda lindsay ling lisa
    lise liz lola lorenzo louis louise luca lucas lucia lucy luigi luis luisa lukas luke luna lydia lynn maggie
    magda magdalena mahmoud malik manfred manuel manuela mara marc marcel marcela marco marcos marcus margaret
    margarita maria maría marian mariana marie marina mario marion marisa marius mark markus marta martha martin
    martina mary masha mateo mathias mathieu matilda matt matteo matthew matthias maurice max maxim maximilian maya
    mehmet mei mel melanie melissa mercedes mia michael michaela michal michel michele michelle miguel mika mike
    mikhail mila milan milena milo mina ming miranda miriam misha mohamed mohammed moira molly mona monica monika
    morgan moritz muhammad murat mustafa nadia nadine nancy naomi natalia natalie natasha nathan nathalie neha neil
    nelson nia nicholas nick nicola nicolas nicole nigel nikita niklas nikolai nils nina noah noel nora norbert
    norman olaf oleg olga oliver olivia olivier omar orlando oscar oskar otto pablo pamela paola paolo pascal pat
    patricia patrick paul paula paulo pavel pedro peggy penny pete peter petra phil philip philipp phoebe pia pierre
    piotr priya rachel rafael rahul raj rajesh ralf ralph ramon rana randy raphael raquel rashid raul ravi ray
    raymond rebecca regina reinhard renata renate rene ricardo richard rick rita rob robert roberta roberto robin
    rocio rodrigo roger roland rolf roman ron ronald rosa rosalind rose rosie ross roxana roy ruben rudolf rupert
    russell ruth ryan sabine sabrina said sally salma sam samantha samira samuel sandra sandro sandy sanjay sara
    sarah sasha scott sean sebastian selma serena sergei sergey sergio seth shane shannon sharon shaun shawn sheila
    shirley sibylle sid sigrid silke silvia simon simona simone sina sofia sofie sonia sonja sophia sophie stacy
    stan stefan stefania stefano steffen stella stephan stephanie stephen steve steven stuart sue suleiman sunita
    susan susana susanne suzanne sven svetlana sylvia tamara tania tanja tanya tara tariq tatiana ted teresa terry
    tess theo theodor theresa thomas thorsten tim timo timothy tina tobias todd tom tomas tomasz tommy toni tony
    tracy travis trevor tristan ulf ulrich ulrike una ursula uta uwe valentina valeria valerie vanessa vera verena
    veronica vicky victor victoria vijay viktor vincent viola virginia vivian vladimir volker walter wanda warren
    wei wendy werner wilhelm will william wolfgang xavier yan yannick yara yasmin yolanda yuki yuri yusuf yves
    yvonne zach zara zoe zofia
""")
